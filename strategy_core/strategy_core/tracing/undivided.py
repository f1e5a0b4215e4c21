"""Finds a batch that is not divided, or not evenly: what each replica's function gets.

Looked for while a step is traced, when the function of a replica begins to record a tape: replicas
that get their part of a batch have tensors of their own. Of a tensor that all of them get, each may
take rows of its own, as by `replica_id_in_sync_group`; that is known once the graph is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

import tensorflow as tf

_TAKES_ROWS = frozenset({"GatherV2", "GatherNd", "Slice", "StridedSlice"})


def batch_like(frame: FrameType) -> list[Any]:
    """The arguments of a function, and parts of them, that may be a batch: rank 1 or more, and a
    first dimension that is known and above 1."""
    code = frame.f_code
    parts: list[Any] = []
    for name in code.co_varnames[: code.co_argcount]:
        value: Any = frame.f_locals.get(name)
        parts += value if isinstance(value, tuple | list) else (value,)
    return [
        part
        for part in parts
        if isinstance(part, tf.Tensor) and part.shape.rank and (part.shape[0] or 0) > 1
    ]


def undivided_examples(shared: Sequence[Any]) -> int | None:
    """The examples of a batch of which every replica uses all; None if it takes rows of each of
    these tensors."""
    return next((int(each.shape[0]) for each in shared if not _is_taken_from(each)), None)


def _is_taken_from(tensor: Any) -> bool:
    users = tensor.consumers()
    return bool(users) and all(_takes_rows(op, tensor) for op in users)


def _takes_rows(op: Any, tensor: Any) -> bool:
    if op.type not in _TAKES_ROWS or op.inputs[0] is not tensor:
        return False
    taken = op.outputs[0]
    if taken.shape.rank == 0:
        return False
    if taken.shape.rank is None or taken.shape[0] != tensor.shape[0]:
        return True
    return _is_taken_from(taken)  # `x[number * 32:][:32]` of replica 0


def same_for_all(arguments: Any) -> int | None:
    """The examples of a batch whose values for the replicas are one tensor, as those of
    `experimental_distribute_values_from_function` for a function that does not use its context;
    None if a value is another tensor on each replica, or none is a batch."""
    every = _tensors_of_replicas(arguments)
    values = [parts for parts in every if parts[0].shape.rank and (parts[0].shape[0] or 0) > 1]
    if not values or any(part is not parts[0] for parts in values for part in parts):
        return None
    return int(values[0][0].shape[0])


def unlike_on_replicas(arguments: Any) -> str | None:
    """Where the replicas get tensors of other shapes: `int32 (8, 420) on replica 1, (8, 14) on
    replica 0`, of the tensor that differs most; None if all shapes are the same."""
    unlike = [
        parts
        for parts in _tensors_of_replicas(arguments)
        if all(part.shape.is_fully_defined() for part in parts)
        and len({tuple(part.shape) for part in parts}) > 1
    ]
    if not unlike:
        return None
    sizes = [[part.shape.num_elements() for part in parts] for parts in unlike]
    at = max(range(len(sizes)), key=lambda each: max(sizes[each]) / max(1, min(sizes[each])))
    parts, size = unlike[at], sizes[at]
    most, least = size.index(max(size)), size.index(min(size))
    shapes = [f"{tuple(parts[number].shape)} on replica {number}" for number in (most, least)]
    return f"{parts[0].dtype.name} {', '.join(shapes)}"


def _tensors_of_replicas(arguments: Any) -> list[tuple[Any, ...]]:
    """The values in the arguments that are a tensor on each of several replicas."""
    return [
        parts
        for each in _leaves(arguments)
        if isinstance(each, tf.distribute.DistributedValues)
        and isinstance(parts := getattr(each, "values", None), tuple)
        and len(parts) > 1
        and all(isinstance(part, tf.Tensor) for part in parts)
    ]


def _leaves(structure: Any) -> Iterator[Any]:
    """Without `tf.nest`, which raises for a dict whose keys have no order."""
    if isinstance(structure, tuple | list | dict):
        parts = structure.values() if isinstance(structure, dict) else structure
        for part in parts:
            yield from _leaves(part)
    else:
        yield structure
