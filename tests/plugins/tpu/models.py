"""Four tiny models in plain TensorFlow, each with a split for every number of logical cores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

BATCH = 16
_RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class Model:
    """Weights, the network, its inputs and labels, and how to split the input over n cores."""

    shapes: list[tuple[int, ...]]
    network: Callable[[list[Any], Any], Any]
    inputs: Any
    labels: Any
    splits: dict[int, list[int]]

    def weights(self) -> list[tf.Variable]:
        return [
            tf.Variable(np.random.default_rng(k).normal(0, 0.3, shape).astype(np.float32))
            for k, shape in enumerate(self.shapes)
        ]

    def loss(self, weights: list[Any], inputs: Any, labels: Any) -> Any:
        """Sum over the examples given, divided by the size of the global batch."""
        logits = self.network(weights, inputs)
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
        return tf.reduce_sum(losses) / BATCH


def _mlp(w: list[Any], x: Any) -> Any:
    return tf.nn.relu(x @ w[0] + w[1]) @ w[2]


def _cnn(w: list[Any], x: Any) -> Any:
    hidden = tf.nn.relu(tf.nn.conv2d(x, w[0], 1, "SAME") + w[1])
    hidden = tf.nn.max_pool2d(hidden, 3, 2, "SAME")
    hidden = tf.nn.relu(tf.nn.conv2d(hidden, w[2], 1, "VALID"))
    return tf.reduce_mean(hidden, [1, 2]) @ w[3]


def _recurrent(w: list[Any], x: Any) -> Any:
    steps = tf.transpose(x, [1, 0, 2])
    start = tf.zeros([tf.shape(x)[0], 6])
    states = tf.scan(lambda h, xt: tf.tanh(xt @ w[0] + h @ w[1]), steps, start)
    return states[-1] @ w[2]


def _normalised(x: Any, gain: Any) -> Any:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * gain


def _transformer(w: list[Any], tokens: Any) -> Any:
    length, heads, width = 4, 2, 8
    hidden = tf.gather(w[0], tokens)
    q, k, v = tf.split(tf.einsum("bsd,de->bse", _normalised(hidden, w[5]), w[1]), 3, axis=-1)

    def by_head(x: Any) -> Any:
        return tf.transpose(tf.reshape(x, [-1, length, heads, width // heads]), [0, 2, 1, 3])

    weights = tf.nn.softmax(tf.matmul(by_head(q), by_head(k), transpose_b=True) / 2.0)
    mixed = tf.transpose(tf.matmul(weights, by_head(v)), [0, 2, 1, 3])
    hidden += tf.einsum("bsd,de->bse", tf.reshape(mixed, [-1, length, width]), w[2])
    inner = tf.nn.gelu(tf.einsum("bsd,df->bsf", _normalised(hidden, w[6]), w[3]))
    hidden += tf.einsum("bsf,fd->bsd", inner, w[4])
    return tf.reduce_mean(hidden, 1) @ w[7]


MODELS = {
    "mlp": Model(
        [(6, 8), (8,), (8, 5)],
        _mlp,
        _RANDOM.normal(size=(BATCH, 6)).astype(np.float32),
        _RANDOM.integers(0, 5, BATCH),
        {1: [1, 1], 2: [1, 2], 4: [2, 2], 8: [4, 2]},
    ),
    "cnn": Model(
        [(3, 3, 3, 4), (4,), (3, 3, 4, 6), (6, 5)],
        _cnn,
        _RANDOM.normal(size=(BATCH, 8, 8, 3)).astype(np.float32),
        _RANDOM.integers(0, 5, BATCH),
        {1: [1, 1, 1, 1], 2: [1, 2, 1, 1], 4: [1, 2, 2, 1], 8: [2, 2, 2, 1]},
    ),
    "recurrent": Model(
        [(3, 6), (6, 6), (6, 5)],
        _recurrent,
        _RANDOM.normal(size=(BATCH, 5, 3)).astype(np.float32),
        _RANDOM.integers(0, 5, BATCH),
        {1: [1, 1, 1], 2: [2, 1, 1], 4: [4, 1, 1], 8: [8, 1, 1]},
    ),
    "transformer": Model(
        [(11, 8), (8, 24), (8, 8), (8, 16), (16, 8), (8,), (8,), (8, 11)],
        _transformer,
        _RANDOM.integers(0, 11, (BATCH, 4)),
        _RANDOM.integers(0, 11, BATCH),
        {1: [1, 1], 2: [2, 1], 4: [4, 1], 8: [4, 2]},
    ),
}
