"""Values of operands that are known while tracing.

TensorFlow's own folding knows constants, shapes and their assembly; gradients add a little integer
arithmetic on top of those, which is done here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.tpu import private_tf

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
}


def known_value(tensor: tf.Tensor) -> Array | None:
    """The value of a traced tensor, None where only the running step knows it."""
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
    return None
