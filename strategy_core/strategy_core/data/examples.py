"""Examples in memory, from any file format: features, labels, and the checks on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices
from strategy_profiles.errors import SpecError

Array = npt.NDArray[Any]
Decode = Callable[[tf.Tensor, Sequence[int | None]], tf.Tensor]
"""(features of a batch as stored, shape of one example in the model) -> features for the model."""


@dataclass(frozen=True)
class Examples:
    """A data set: one row of `features` and one of `labels` per example."""

    features: Array
    labels: Array
    """Integers are classes; floats are values to predict."""
    decode: Decode | None = None
    """Converts features that are stored as something else, such as names of image files."""

    def check(self, where: str) -> None:
        """Check the rows.

        Raises SpecError if there are no examples, features and labels differ in number, features
        are not numeric, or a number is not finite.
        """
        if 0 in (self.features.ndim, self.labels.ndim):
            raise _wrong(f"{where} holds a single value, not a row for each example")
        if len(self.features) != len(self.labels):
            raise _wrong(f"{where} holds {len(self.features)} examples, {len(self.labels)} labels")
        if len(self.features) == 0:
            raise _wrong(f"{where} holds no examples")
        if self.decode is None and self.features.dtype.kind not in "biuf":
            kind = self.features.dtype.name
            raise _wrong(f"The features of {where} are {kind}, not real numbers")
        for what, array in (("features", self.features), ("labels", self.labels)):
            if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
                row = int(np.argmin(np.isfinite(array.reshape(len(array), -1)).all(axis=1)))
                raise _wrong(f"NaN or infinity in the {what} of example {row} of {where}")

    @property
    def note(self) -> str | None:
        """A warning about data that can be trained on but is of no use; None for other data."""
        if len(self.labels) == 1 or (self.labels != self.labels[0]).any():
            return None
        count = len(self.labels)
        return f"All {count} examples of the data have one and the same label: nothing to learn."

    def batches(
        self, global_batch_size: int, seed: int, first_example: int, model: Any
    ) -> tf.data.Dataset:
        """An endless shuffled stream for `model`; raises SpecError if the shapes do not fit."""
        shape = _one_input(model)
        labels = tf.constant(self._labels_for(model.output_shape))
        indices = shuffled_indices(len(labels), global_batch_size, seed, first_example)
        if self.decode is not None:
            decode, stored = self.decode, tf.constant(self.features)
            # raise errors here that would otherwise be raised inside the map
            decode(stored[:0], shape)
            return indices.map(
                lambda index: (decode(tf.gather(stored, index), shape), tf.gather(labels, index)),
                num_parallel_calls=tf.data.AUTOTUNE,
            )
        dtype = tf.as_dtype(model.inputs[0].dtype)
        if dtype.is_integer and not _are_whole(self.features):
            raise _wrong("The model takes whole numbers, but the features have fractions")
        features = tf.constant(self._in_shape(shape), dtype)
        return indices.map(lambda index: (tf.gather(features, index), tf.gather(labels, index)))

    def _in_shape(self, shape: tuple[int | None, ...]) -> Array:
        """The features in the model's input shape: a row of 64 numbers fits (8, 8, 1)."""
        own = self.features.shape[1:]
        wanted = own if None in shape else tuple(size or 0 for size in shape)
        if int(np.prod(own)) != int(np.prod(wanted)) or (None in shape and len(own) != len(shape)):
            problem = f"The model takes examples of shape {shape}, the data has {own}"
            raise _wrong(problem, "Choose or write a workload whose model takes such examples")
        return self.features.reshape(len(self.features), *wanted)

    def _labels_for(self, output_shape: tuple[int | None, ...]) -> Array:
        """The labels for the model's outputs; a model with a single output takes them as float
        values.

        Raises SpecError if a class number is not smaller than the number of outputs.
        """
        classes = output_shape[-1]
        if classes == 1 and len(output_shape) == self.labels.ndim + 1:
            return self.labels[..., None].astype(np.float32)
        if not np.issubdtype(self.labels.dtype, np.integer) or classes in (None, 1):
            return self.labels
        low, high = int(self.labels.min()), int(self.labels.max())
        if low < 0 or high >= classes:
            raise _wrong(
                f"The labels run from {low} to {high}; the model's {classes} classes are 0 to "
                f"{classes - 1}",
                "Number the classes from 0, or choose a workload whose model has enough outputs",
            )
        return self.labels


def as_labels(column: Array) -> Array:
    """Convert labels: names and integers to int32 classes, other numbers to float32 values.

    Floats that are all whole numbers become classes, too. Names are numbered in sorted order.
    """
    if column.dtype.kind in "OUS":
        _, numbers = np.unique(column.astype(str), return_inverse=True)
        return numbers.astype(np.int32)
    if column.dtype.kind in "iub":
        return column.astype(np.int32)
    values = column.astype(np.float32)
    return values.astype(np.int32) if np.isfinite(values).all() and _are_whole(values) else values


def _one_input(model: Any) -> tuple[int | None, ...]:
    """Shape of one example in the model; raises SpecError unless it has one input and one
    output."""
    shape, outputs = model.input_shape, model.output_shape
    if not all(isinstance(each, tuple) and None in each[:1] for each in (shape, outputs)):
        problem = f"The model has inputs {shape} and outputs {outputs}; the lab feeds one of each"
        raise _wrong(problem, "Write a build_dataset for it")
    return tuple(shape[1:])


def _are_whole(array: Array) -> bool:
    return array.dtype.kind != "f" or bool((array == np.round(array)).all())


def _wrong(problem: str, advice: str = "") -> SpecError:
    return SpecError(problem, advice=advice, field="data")
