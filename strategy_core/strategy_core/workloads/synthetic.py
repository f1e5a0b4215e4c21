"""A workload of chosen size: parameters to all-reduce, FLOPs per example, time to read a batch.

A stack of square dense layers, each applied as often as the FLOPs ask for, learns to imitate a
fixed random linear map. An application of a layer of w x w weights costs 6 w^2 FLOPs per example
(2 forward, 4 backward), biases and activations not counted.
"""

from __future__ import annotations

import math
import time
from typing import Any

import keras
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices

NUM_EXAMPLES = 1 << 20
NUM_FEATURES = 64
NUM_LAYERS = 4


def build_model(*, parameters: int = 1_000_000, flops_per_example: int = 6_000_000) -> Any:
    """(n, 64) features -> (n, 1); about `parameters` weights, most in square layers."""
    width = _width(parameters)
    repeats = max(1, round(flops_per_example / (6 * NUM_LAYERS * width**2)))
    inputs = keras.Input((NUM_FEATURES,))
    hidden = keras.layers.Dense(width)(inputs)
    for _ in range(NUM_LAYERS):
        layer = keras.layers.Dense(width, activation="tanh")
        for _ in range(repeats):
            hidden = layer(hidden)
    return keras.Model(inputs, keras.layers.Dense(1)(hidden))


def build_dataset(
    global_batch_size: int, seed: int, *, first_example: int = 0, read_ms: float = 0.0
) -> tf.data.Dataset:
    """Return an endless dataset of `(features, target)` batches.

    An example is computed from its number, so any process makes the same one: features are sines
    of the number at fixed random frequencies, the target is tanh of a fixed random linear map.
    `seed` only shuffles; `first_example` is the position in the shuffled order to start from.
    Each batch takes `read_ms` milliseconds longer to read, one at a time, as from a slow disk.
    """
    frequencies = tf.random.stateless_uniform((NUM_FEATURES,), (0, 1), 0.1, 3.0)
    # Scaled so that the map's values are of order 1, where tanh does not saturate.
    teacher = tf.random.stateless_normal((NUM_FEATURES, 1), (0, 2)) / NUM_FEATURES**0.5

    def examples(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        features = tf.sin(tf.cast(index[:, None], tf.float32) * frequencies)
        return features, tf.tanh(features @ teacher)

    def slowly(index: tf.Tensor) -> tf.Tensor:
        read: tf.Tensor = tf.numpy_function(_read, (index, read_ms), index.dtype)
        read.set_shape(index.shape)
        return read

    indices = shuffled_indices(NUM_EXAMPLES, global_batch_size, seed, first_example)
    return (indices.map(slowly) if read_ms else indices).map(examples)


def _read(index: Any, read_ms: float) -> Any:
    time.sleep(float(read_ms) / 1000)  # TensorFlow hands over a NumPy scalar
    return index


def build_optimizer(*, learning_rate: float = 0.01) -> Any:
    return keras.optimizers.SGD(learning_rate)


def loss_fn(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Squared error of each example, shape (n,)."""
    return tf.reduce_mean(tf.math.squared_difference(labels, outputs), axis=1)


def _width(parameters: int) -> int:
    """w with NUM_LAYERS w^2 + (NUM_LAYERS + NUM_FEATURES + 2) w + 1 = parameters, rounded."""
    linear = NUM_LAYERS + NUM_FEATURES + 2
    root = math.sqrt(linear**2 + 4 * NUM_LAYERS * max(0, parameters - 1))
    return max(1, round((root - linear) / (2 * NUM_LAYERS)))
