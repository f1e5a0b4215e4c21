"""A data set as a graph for other processes, which cannot run this process's Python code."""

from __future__ import annotations

import tensorflow as tf

from strategy_profiles.run.tensorflow_names import PYTHON_OPS


def as_graph(dataset: tf.data.Dataset) -> bytes | None:
    """The data set as a serialized GraphDef; None if it calls back into Python."""
    graph: bytes = tf.raw_ops.DatasetToGraphV2(
        input_dataset=tf.data.experimental.to_variant(dataset),
        external_state_policy=1,  # ignore: a shuffle starts from its seed
    ).numpy()
    definition = tf.compat.v1.GraphDef.FromString(graph)
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    return None if any(node.op in PYTHON_OPS for node in nodes) else graph
