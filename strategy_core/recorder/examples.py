"""How many examples a batch has."""

from __future__ import annotations

from typing import Any


def num_examples(batch: Any) -> int | None:
    """Examples in a batch: the first axis of its first tensor, over all replicas of the process.

    None if it has no such axis; a batch may be any object of the program.
    """
    import tensorflow as tf

    first = batch
    while isinstance(first, tuple | list) and first:  # most batches: `flatten` takes long in a step
        first = first[0]
    if not isinstance(first, tf.Tensor):
        leaves = tf.nest.flatten(batch)
        if not leaves:
            return None
        first = leaves[0]
    if isinstance(first, tf.Tensor):  # a tensor has no `values`, and takes long to say so
        return _first_axis(first)
    parts = getattr(first, "values", None)
    of_replicas = parts if isinstance(parts, tuple | list) and parts else (first,)
    sizes = [_first_axis(part) for part in of_replicas]
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _first_axis(tensor: Any) -> int | None:
    try:
        return int(tensor.shape[0])
    except (AttributeError, IndexError, TypeError, ValueError):  # no shape, a scalar, unknown
        return None
