"""How many examples a batch has."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from strategy_core.private_tf.shapes import first_axes

# Names of this module: to find one in TensorFlow's, or to make a union, takes longer in a step.
_SEQUENCE = (tuple, list)
_TENSOR = tf.Tensor
_OF_REPLICAS = tf.distribute.DistributedValues


def num_examples(batch: Any) -> int | None:
    """Examples in a batch: the first axis of its first tensor, over all replicas of the process.

    None if it has no such axis; a batch may be any object of the program.
    """
    first = batch
    while isinstance(first, _SEQUENCE) and first:
        first = first[0]
    if isinstance(first, _TENSOR):  # a tensor has no `values`, and takes long to say so
        return first_axes((first,))
    if not isinstance(first, _OF_REPLICAS):  # `flatten` takes long in a step
        leaves = tf.nest.flatten(batch)
        if not leaves:
            return None
        first = leaves[0]
        if isinstance(first, _TENSOR):
            return first_axes((first,))
    parts = getattr(first, "values", None)
    return first_axes(parts if isinstance(parts, _SEQUENCE) and parts else (first,))
