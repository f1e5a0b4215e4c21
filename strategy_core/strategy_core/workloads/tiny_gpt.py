"""A two-layer transformer that learns to write Python, character by character, from its library.

The text is the source of Python's own standard library, so it is there offline.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices
from strategy_core.workloads._stdlib import modules

NUM_CHARACTERS = 128  # ASCII; what is beyond reads as '?'
MAX_BYTES = 1_000_000


def build_model(*, context: int = 64, width: int = 64, heads: int = 4, layers: int = 2) -> Any:
    """(n, context) character codes -> (n, context, 128) logits of the next character."""
    inputs = keras.Input((context,), dtype="int32")
    places = np.arange(context, dtype=np.int32)[None]
    hidden = keras.layers.Embedding(NUM_CHARACTERS, width)(inputs)
    hidden += keras.layers.Embedding(context, width)(places)
    for _ in range(layers):
        normed = keras.layers.LayerNormalization()(hidden)
        attend = keras.layers.MultiHeadAttention(heads, width // heads)
        hidden += attend(normed, normed, use_causal_mask=True)
        normed = keras.layers.LayerNormalization()(hidden)
        wide = keras.layers.Dense(4 * width, activation="gelu")(normed)
        hidden += keras.layers.Dense(width)(wide)
    hidden = keras.layers.LayerNormalization()(hidden)
    return keras.Model(inputs, keras.layers.Dense(NUM_CHARACTERS)(hidden))


def build_dataset(
    global_batch_size: int, seed: int, *, first_example: int = 0, context: int = 64
) -> tf.data.Dataset:
    """An endless stream of (characters, the characters one place on) batches."""
    source = b"".join(source for _, source in modules(MAX_BYTES))
    codes = np.frombuffer(source, np.uint8)
    text = tf.constant(np.where(codes < NUM_CHARACTERS, codes, ord("?")), tf.int32)
    windows = len(codes) - context
    places = tf.range(context + 1, dtype=tf.int64)

    def window(index: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        characters = tf.gather(text, index[:, None] + places)
        return characters[:, :-1], characters[:, 1:]

    return shuffled_indices(windows, global_batch_size, seed, first_example).map(window)


def build_optimizer(*, learning_rate: float = 1e-3) -> Any:
    return keras.optimizers.Adam(learning_rate)


def loss_fn(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Mean cross-entropy per character of each example, shape (n,)."""
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
    return tf.reduce_mean(losses, axis=1)
