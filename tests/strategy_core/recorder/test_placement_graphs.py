"""The graphs of a step that writes summaries are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

pytestmark = pytest.mark.tf


def test_a_step_that_writes_a_summary_is_no_graph_of_the_export(tmp_path: Path) -> None:
    import tensorflow as tf

    from strategy_core.recorder.placement import begin_trace, end_trace, read_nodes

    writer = tf.summary.create_file_writer(str(tmp_path / "log"))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.softmax(x) + tf.sqrt(x)
        with writer.as_default():
            tf.summary.write("norm", tf.norm(y), step=0)
        return y

    begin_trace()
    step(tf.ones((4, 4)))
    nodes = read_nodes(end_trace(tmp_path / "scratch"))
    assert {"Sqrt", "WriteSummary"} <= {node.op for node in nodes}
