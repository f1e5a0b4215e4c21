"""TensorFlow still names the types of ops that readers of a run match as it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_profiles.run.tensorflow_names import CHECKING_OPS, PRINTING_OPS, SUMMARY_OPS

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def test_ops_that_print_check_and_write_summaries(tmp_path: Path) -> None:
    import tensorflow as tf

    writer = tf.summary.create_file_writer(str(tmp_path))

    @tf.function
    def step(values: tf.Tensor) -> tf.Tensor:
        tf.print(values)
        with writer.as_default(step=tf.constant(0, tf.int64)):
            tf.summary.write("values", values)
        return tf.debugging.check_numerics(values, "values")

    graph = step.get_concrete_function(tf.TensorSpec([4])).graph
    functions = graph.as_graph_def().library.function
    types = {node.op for function in functions for node in function.node_def}
    types |= {op.type for op in graph.get_operations()}
    assert {"PrintV2", "StringFormat"} <= types & PRINTING_OPS
    assert types & CHECKING_OPS
    assert types & SUMMARY_OPS
