"""Formats tensors as text: `float32 (n, 8, 8, 1)`, where n is the number of examples."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def described(structure: Any) -> str:
    """Format a tensor, a tensor spec, or a nested structure of them."""
    if isinstance(structure, dict):
        inside = ", ".join(f"{name}: {described(part)}" for name, part in structure.items())
        return f"{{{inside}}}"
    if isinstance(structure, tuple | list):
        return f"({', '.join(described(part) for part in structure)})"
    dtype, shape = getattr(structure, "dtype", None), getattr(structure, "shape", None)
    if dtype is None or shape is None:
        return type(structure).__name__
    kind = {tf.RaggedTensorSpec: "ragged ", tf.SparseTensorSpec: "sparse "}.get(type(structure), "")
    return f"{kind}{tf.as_dtype(dtype).name} {shape_of_batch(tf.TensorShape(shape))}"


def shape_of_batch(shape: tf.TensorShape) -> str:
    """`(n, 64)`; other unknown dimensions are shown as `?`."""
    if shape.rank is None:
        return "of unknown shape"
    sizes = ["?" if size is None else str(size) for size in shape]
    if sizes:
        sizes[0] = "n"
    return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
