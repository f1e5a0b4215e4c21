"""A large embedding table of which a step touches few rows: sparse gradients (IndexedSlices).

It learns from which module of Python's standard library a run of 32 words was taken.
"""

from __future__ import annotations

import re
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from strategy_core.data.shuffle import shuffled_indices
from strategy_core.workloads._stdlib import modules

WORDS_PER_EXAMPLE = 32
MAX_BYTES = 2_000_000


def build_model(*, vocabulary: int = 65_536, width: int = 32) -> Any:
    """(n, 32) word numbers -> (n, number of modules) logits."""
    inputs = keras.Input((WORDS_PER_EXAMPLE,), dtype="int32")
    hidden = keras.layers.Embedding(vocabulary, width)(inputs)
    hidden = keras.layers.GlobalAveragePooling1D()(hidden)
    return keras.Model(inputs, keras.layers.Dense(len(modules(MAX_BYTES)))(hidden))


def build_dataset(
    global_batch_size: int, seed: int, *, first_example: int = 0, vocabulary: int = 65_536
) -> tf.data.Dataset:
    """An endless stream of (word numbers, module number) batches; rare words share a number."""
    number_of: dict[bytes, int] = {}
    runs, labels = [], []
    for label, (_, source) in enumerate(modules(MAX_BYTES)):
        words = re.findall(rb"\w+", source)
        numbers = [number_of.setdefault(word, len(number_of) % vocabulary) for word in words]
        whole = len(numbers) // WORDS_PER_EXAMPLE * WORDS_PER_EXAMPLE
        runs.append(np.reshape(numbers[:whole], (-1, WORDS_PER_EXAMPLE)))
        labels.append(np.full(len(runs[-1]), label))
    examples = tf.constant(np.concatenate(runs), tf.int32)
    modules_of = tf.constant(np.concatenate(labels), tf.int32)
    indices = shuffled_indices(len(examples), global_batch_size, seed, first_example)
    return indices.map(lambda index: (tf.gather(examples, index), tf.gather(modules_of, index)))


def build_optimizer(*, learning_rate: float = 0.5) -> Any:
    return keras.optimizers.Adagrad(learning_rate)


def loss_fn(labels: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """Cross-entropy of each example, shape (n,)."""
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
