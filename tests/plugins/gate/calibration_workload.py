"""Work in proportion to one option: `repeats` matrix products a step, and nothing else to speak of.

A slowdown planted as 5 % more products stays 5 % when other programs slow the machine down, which
a delay of a fixed length would not.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

SIZE = 256


class Products(keras.layers.Layer):  # type: ignore[misc]
    """Multiplies its input by a constant matrix `repeats` times, one after the other."""

    def __init__(self, repeats: int) -> None:
        super().__init__()
        self.repeats = repeats
        values = np.random.default_rng(0).normal(0, SIZE**-0.5, (SIZE, SIZE))
        self.matrix = tf.constant(values, tf.float32)

    def call(self, inputs: Any) -> Any:
        # No gradient goes through: the work is that of the forward pass alone.
        values = tf.while_loop(
            lambda *_: True,
            lambda values: (tf.tanh(values @ self.matrix),),
            (inputs,),
            maximum_iterations=self.repeats,
        )
        return tf.stop_gradient(values[0])

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape


def build_model(*, repeats: int = 400) -> keras.Model:
    """`repeats` products of a batch with a matrix of 256 x 256."""
    return keras.Sequential([keras.Input((SIZE,)), Products(repeats), keras.layers.Dense(1)])


def build_optimizer() -> keras.optimizers.Optimizer:
    return keras.optimizers.SGD(0.01)


def build_dataset(global_batch_size: int, seed: int) -> tf.data.Dataset:
    rng = np.random.default_rng(seed)
    examples = rng.normal(size=(4 * global_batch_size, SIZE)).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((examples, examples[:, :1]))
    return dataset.batch(global_batch_size).cache().prefetch(2)


def loss_fn(labels: Any, outputs: Any) -> Any:
    return tf.reduce_sum(tf.square(outputs - labels), axis=1)
