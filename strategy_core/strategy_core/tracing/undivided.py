"""Finds a batch that is not divided: each replica's function gets the same tensors.

Looked for while a step is traced, when the function of a replica begins to record a tape: replicas
that get their part of a batch have tensors of their own.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

import tensorflow as tf


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
