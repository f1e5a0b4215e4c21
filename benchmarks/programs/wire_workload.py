"""One variable of a known size and nothing else: a step all-reduces so many bytes."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf


class Vector(keras.layers.Layer):  # type: ignore[misc]
    """Adds the mean of its only variable: every element has a gradient."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def build(self, _shape: Any) -> None:
        self.vector = self.add_weight(shape=(self.size,), initializer="zeros", name="vector")

    def call(self, inputs: Any) -> Any:
        return inputs + keras.ops.mean(self.vector)


def build_model(*, size: int = 1_000_000) -> keras.Model:
    """`size` elements of 4 bytes."""
    return keras.Sequential([keras.Input((1,)), Vector(size)])


def build_optimizer() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.1)


def build_dataset(global_batch_size: int, _seed: int) -> tf.data.Dataset:
    examples = np.ones((10 * global_batch_size, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((examples, 2 * examples[:, 0]))
    return dataset.batch(global_batch_size)


def loss_fn(labels: Any, outputs: Any) -> Any:
    return tf.square(outputs[:, 0] - labels)
