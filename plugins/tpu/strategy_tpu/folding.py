"""Values of operands that are known at tracing time.

TensorFlow's own constant folding handles constants, shapes and their assembly. Gradients add some
integer arithmetic on top of those, which is folded here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_tpu import private_tf

Array = npt.NDArray[Any]

_ARITHMETIC: dict[str, Callable[..., Array]] = {
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Maximum": np.maximum,
    "Neg": np.negative,
    "InvertPermutation": np.argsort,
    "Identity": np.asarray,
    "Reshape": np.reshape,
    "Slice": lambda value, begin, size: value[
        tuple(
            slice(b, None if s == -1 else b + s)
            for b, s in zip(begin.tolist(), size.tolist(), strict=True)
        )
    ],
}


def known_value(tensor: tf.Tensor) -> Array | None:
    """The value of a traced tensor; None if it is known only at run time."""
    value = private_tf.constant_value(tensor)
    if value is not None:
        return np.asarray(value)
    op = tensor.op
    if op.type == "ShapeN":
        shape = op.inputs[tensor.value_index].shape
        return np.array(shape.as_list()) if shape.is_fully_defined() else None
    if op.type in _ARITHMETIC:
        operands = [known_value(each) for each in op.inputs]
        if all(operand is not None for operand in operands):
            return np.asarray(_ARITHMETIC[op.type](*operands))
    if op.type == "StridedSlice":
        return _sliced(op)
    if op.type == "BroadcastGradientArgs":
        shapes = [known_value(each) for each in op.inputs]
        if shapes[0] is not None and shapes[1] is not None:
            return _broadcast_axes(shapes[0], shapes[1])[tensor.value_index]
    return None


def _sliced(op: tf.Operation) -> Array | None:
    """A slice of a vector, such as the batch axes of a shape."""
    operands = [known_value(each) for each in op.inputs]
    if any(each is None or each.ndim != 1 for each in operands):
        return None
    value, begin, end, step = (np.asarray(each) for each in operands)
    if op.get_attr("shrink_axis_mask"):
        return np.asarray(value[begin[0]])
    start = None if op.get_attr("begin_mask") else begin[0]
    stop = None if op.get_attr("end_mask") else end[0]
    return np.asarray(value[start : stop : step[0]])


def _broadcast_axes(a: Array, b: Array) -> tuple[Array, Array]:
    """The axes along which each of two shapes is broadcast against the other."""
    rank = max(len(a), len(b))
    a, b = (np.concatenate([np.ones(rank - len(s), np.int64), s]) for s in (a, b))
    return np.flatnonzero((a == 1) & (a != b)), np.flatnonzero((b == 1) & (a != b))
