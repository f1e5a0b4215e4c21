"""Examples in memory, whatever file they came from: features, labels, and the checks on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from profiles.errors import SpecError
from strategy_core.shuffled import shuffled_indices

Array = npt.NDArray[Any]
Decode = Callable[[tf.Tensor, Sequence[int]], tf.Tensor]
"""(features of a batch as stored, one example's shape in the model) -> features as the model takes
them."""


@dataclass(frozen=True)
class Examples:
    """A data set: one row of `features` and one of `labels` per example."""

    features: Array
    labels: Array
    """Whole numbers are classes, others are values to predict."""
    decode: Decode | None = None
    """For features that are stored as something else, such as the names of image files."""

    def check(self, where: str) -> None:
        """Raise SpecError where the rows do not pair up or a number is not finite."""
        if len(self.features) != len(self.labels):
            raise _wrong(
                "Every example has a label",
                f"{len(self.features)} examples and {len(self.labels)} labels in {where}",
            )
        if len(self.features) == 0:
            raise _wrong("Data has at least one example", where)
        for what, array in (("features", self.features), ("labels", self.labels)):
            if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
                row = int(np.argmin(np.isfinite(array.reshape(len(array), -1)).all(axis=1)))
                raise _wrong(
                    "Every number of the data is finite",
                    f"NaN or infinity in the {what} of example {row} of {where}",
                )

    def batches(
        self, global_batch_size: int, seed: int, first_example: int, model: Any
    ) -> tf.data.Dataset:
        """An endless shuffled stream for `model`; raises SpecError where the shapes do not fit."""
        shape = tuple(model.input_shape[1:])
        self._check_labels(model.output_shape)
        labels = tf.constant(self.labels)
        indices = shuffled_indices(len(labels), global_batch_size, seed, first_example)
        if self.decode is not None:
            decode, stored = self.decode, tf.constant(self.features)
            return indices.map(
                lambda index: (decode(tf.gather(stored, index), shape), tf.gather(labels, index)),
                num_parallel_calls=tf.data.AUTOTUNE,
            )
        features = tf.constant(self._in_shape(shape), tf.as_dtype(model.input_dtype))
        return indices.map(lambda index: (tf.gather(features, index), tf.gather(labels, index)))

    def _in_shape(self, shape: tuple[int | None, ...]) -> Array:
        """The features as the model takes them: a row of 64 numbers fits (8, 8, 1)."""
        own = self.features.shape[1:]
        wanted = own if None in shape else tuple(size or 0 for size in shape)
        if int(np.prod(own)) != int(np.prod(wanted)) or (None in shape and len(own) != len(shape)):
            raise _wrong(f"The model takes examples of shape {shape}", f"examples of shape {own}")
        return self.features.reshape(len(self.features), *wanted)

    def _check_labels(self, output_shape: tuple[int | None, ...]) -> None:
        classes = output_shape[-1]
        if not np.issubdtype(self.labels.dtype, np.integer) or classes is None:
            return
        low, high = int(self.labels.min()), int(self.labels.max())
        if low < 0 or high >= classes:
            raise _wrong(
                f"The model tells {classes} classes apart: labels from 0 to {classes - 1}",
                f"labels from {low} to {high}",
            )


def as_labels(column: Array) -> Array:
    """Labels as the model wants them: int32 classes, also for names; float32 for values."""
    if column.dtype.kind in "OUS":
        _, numbers = np.unique(column.astype(str), return_inverse=True)
        return numbers.astype(np.int32)
    if column.dtype.kind in "iub":
        return column.astype(np.int32)
    values = column.astype(np.float32)
    is_whole = np.isfinite(values).all() and bool((values == np.round(values)).all())
    return values.astype(np.int32) if is_whole else values


def _wrong(rule: str, received: str) -> SpecError:
    return SpecError(rule, received, field="data")
