"""What a step sends to the parameter servers: its update ops and their sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

_READS = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape")


class Pushes:
    """Bytes that a step pushes to each variable, by its path; None if known only at run time."""

    def __init__(self) -> None:
        self.bytes: dict[str, int | None] = {}

    def note(self, variable: Any, pushed: Any) -> None:
        """Record that `pushed` (dense, or IndexedSlices) is sent to the device of `variable`."""
        parts = tf.nest.flatten(pushed, expand_composites=True)
        sizes = [_static_bytes(part) for part in parts]
        known = [size for size in sizes if size is not None]
        self.bytes[variable.path] = sum(known) if len(known) == len(sizes) else None


@contextmanager
def updates() -> Iterator[Callable[[], Sequence[tf.Operation]]]:
    """Yields a function that returns the ops created in the block that update variables.

    Waiting for these ops means waiting for the servers' acknowledgement.
    """
    graph = tf.compat.v1.get_default_graph()
    before = len(graph.get_operations())
    yield lambda: [op for op in graph.get_operations()[before:] if _is_update(op)]


def answered(made: Sequence[tf.Operation]) -> list[tf.Operation]:
    """Ops that complete when all of `made` have, one per device of the variables.

    Waiting for them saves a message for every other update.
    """
    by_device: dict[str, list[tf.Operation]] = {}
    for op in made:
        device = next(tensor.device for tensor in op.inputs if tensor.dtype == tf.resource)
        by_device.setdefault(device, []).append(op)
    done = []
    for device, ops in by_device.items():
        with tf.device(device), tf.control_dependencies(ops):
            done.append(tf.no_op())
    return done


def _is_update(op: tf.Operation) -> bool:
    takes_variable = any(tensor.dtype == tf.resource for tensor in op.inputs)
    return takes_variable and op.op_def.is_stateful and op.type not in _READS


def _static_bytes(tensor: tf.Tensor) -> int | None:
    count = tensor.shape.num_elements()
    return None if count is None else int(count) * int(tensor.dtype.size)
