"""A small convolutional network with BatchNormalization on 1,797 real handwritten digits.

Each image has 8 x 8 pixels. The moving statistics of BatchNormalization are kept per replica
and averaged when read (SyncOnRead variables).
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices
from strategy_core.workloads._digits import load_digits


def build_model(*, filters: int = 24, batch_norm: bool = True) -> Any:
    """(n, 8, 8, 1) pixels from 0 to 1 -> (n, 10) logits."""
    inputs = keras.Input((8, 8, 1))
    hidden = inputs
    for width in (filters, 2 * filters):
        hidden = keras.layers.Conv2D(width, 3, padding="same", use_bias=not batch_norm)(hidden)
        if batch_norm:
            hidden = keras.layers.BatchNormalization()(hidden)
        hidden = keras.layers.ReLU()(hidden)
        hidden = keras.layers.MaxPooling2D()(hidden)
    hidden = keras.layers.Flatten()(hidden)
    hidden = keras.layers.Dense(64, activation="relu")(hidden)
    return keras.Model(inputs, keras.layers.Dense(10)(hidden))


def build_dataset(global_batch_size: int, seed: int, *, first_example: int = 0) -> tf.data.Dataset:
    """An endless stream of (pixels, digit) batches, reshuffled in every epoch."""
    images, numbers = load_digits()
    pixels = tf.constant(images[..., None])
    labels = tf.constant(numbers)
    indices = shuffled_indices(len(numbers), global_batch_size, seed, first_example)
    return indices.map(lambda index: (tf.gather(pixels, index), tf.gather(labels, index)))


def build_optimizer(*, learning_rate: float = 1e-3) -> Any:
    return keras.optimizers.Adam(learning_rate)


def loss_fn(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Cross-entropy of each example, shape (n,)."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
