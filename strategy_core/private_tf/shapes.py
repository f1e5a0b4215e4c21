"""A tensor's shape in a time that a step can afford."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.private_tf.availability import has

_CAN = has(tf.Tensor, "_shape_tuple", "to count the examples of a step takes 10 us longer")


def shape_of(tensor: Any) -> Sequence[Any]:
    """The lengths of a tensor's axes, or the `shape` of what is no tensor of TensorFlow.

    `tensor.shape` makes an object for each tensor, which takes four times as long.
    """
    if _CAN and isinstance(tensor, tf.Tensor):
        found: tuple[Any, ...] = tensor._shape_tuple()
        return found
    return tensor.shape
