"""Two dense layers on 1,797 real handwritten digits: the smallest thing that learns."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices
from strategy_core.workloads._digits import load_digits


def build_model(*, hidden: int = 128, dropout: float = 0.0) -> Any:
    """(n, 64) pixels from 0 to 1 -> (n, 10) logits."""
    return keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(hidden, activation="relu"),
            keras.layers.Dropout(dropout),
            keras.layers.Dense(10),
        ]
    )


def build_dataset(global_batch_size: int, seed: int, *, first_example: int = 0) -> tf.data.Dataset:
    """An endless stream of (pixels, digit) batches, reshuffled in every epoch."""
    images, numbers = load_digits()
    pixels = tf.constant(images.reshape(-1, 64))
    labels = tf.constant(numbers)
    indices = shuffled_indices(len(numbers), global_batch_size, seed, first_example)
    return indices.map(lambda index: (tf.gather(pixels, index), tf.gather(labels, index)))


def build_optimizer(*, learning_rate: float = 1e-3) -> Any:
    return keras.optimizers.Adam(learning_rate)


def loss_fn(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Cross-entropy of each example, shape (n,)."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
