"""Every rule of the partitioner: the same numbers as one device, forwards and backwards."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.plugins.tpu.strategies import make_strategy, results, values

pytestmark = pytest.mark.tf

_RANDOM = np.random.default_rng(3)


def normal(*shape: int) -> Any:
    return _RANDOM.normal(size=shape).astype(np.float32)


@dataclass(frozen=True)
class Case:
    """`fn(x)` with x split; `falls_back` names the ops that have to go to core 0."""

    name: str
    fn: Callable[[Any], Any]
    x: Any
    split: list[int]
    falls_back: tuple[str, ...] = ()
    differentiable: bool = True


IMAGE = normal(2, 8, 8, 3)
KERNEL = normal(3, 3, 3, 4)
ODD_IMAGE = normal(2, 7, 14, 3)
BIG_KERNEL = normal(5, 5, 3, 2)
DEPTHWISE = normal(3, 3, 3, 2)
MATRIX = normal(8, 6)
TABLE = normal(8, 5)
ROW, RIGHT, RIGHT_OF_EIGHT, THIRD = normal(6), normal(6, 4), normal(8, 4), normal(1, 3, 2)
CAPTURED = tf.constant(normal(8, 6))
PER_IMAGE = [1, 4, 1, 1]
CLASSES = np.array([1, 3, 0, 7, 2, 2, 5, 6])


def conv(stride: int, padding: Any, kernel: Any = KERNEL) -> Callable[[Any], Any]:
    return lambda x: tf.nn.conv2d(x, tf.constant(kernel), stride, padding)


def pool(kind: str, size: int, stride: int, padding: str) -> Callable[[Any], Any]:
    return lambda x: tf.nn.pool(x, [size, size], kind, [stride, stride], padding)


def batch_norm(x: Any) -> Any:
    scale, offset = tf.constant([1.0, 2.0, 0.5]), tf.constant([0.1, 0.2, 0.3])
    y, mean, variance = tf.compat.v1.nn.fused_batch_norm(x, scale, offset)
    return y * 0.5 + mean * variance


def inference_norm(x: Any) -> Any:
    three = tf.constant([1.0, 2.0, 0.5])
    return tf.compat.v1.nn.fused_batch_norm(x, three, three, three, three, is_training=False)[0]


def attention(x: Any) -> Any:
    q = tf.einsum("bsd,de->bse", x, tf.constant(MATRIX))
    weights = tf.nn.softmax(tf.einsum("bse,bte->bst", q, q))
    return tf.einsum("bst,btd->bsd", weights, x)


def looped(x: Any) -> Any:
    return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y) * 1.5), (0, x))[1]


CASES = [
    Case("broadcast", lambda x: (x + ROW) * tf.nn.sigmoid(x), MATRIX, [2, 2]),
    Case("where", lambda x: tf.where(x > 0, x * x, tf.zeros_like(x)), MATRIX, [4, 1]),
    Case("clip and select", lambda x: tf.clip_by_value(x, -0.5, 0.5), MATRIX, [2, 2]),
    Case("sum of a split axis", lambda x: tf.reduce_sum(x * x, 0), MATRIX, [4, 1]),
    Case("mean of everything", tf.reduce_mean, MATRIX, [2, 2]),
    Case("mean of uneven tiles", lambda x: tf.reduce_mean(x[:, 1:6], 0), MATRIX, [4, 1]),
    Case("max", lambda x: tf.reduce_max(x, 1, keepdims=True) * x, MATRIX, [2, 2]),
    Case("prod", lambda x: tf.reduce_prod(x, 1), MATRIX, [4, 1], ("Transpose",)),
    Case("variance", lambda x: tf.math.reduce_variance(x, 0), MATRIX, [2, 2]),
    Case("argmax", lambda x: tf.argmax(x, 1), MATRIX, [2, 2], (), False),
    Case("cumsum", lambda x: tf.cumsum(x, 0), MATRIX, [2, 2]),
    Case("l2 loss", tf.nn.l2_loss, MATRIX, [2, 2]),
    Case("matmul, rows", lambda x: x @ RIGHT, MATRIX, [4, 1]),
    Case("matmul, contracted", lambda x: x @ RIGHT_OF_EIGHT, normal(6, 8), [1, 4]),
    Case("matmul, both", lambda x: x @ RIGHT, MATRIX, [2, 2]),
    Case("matmul with itself", lambda x: tf.matmul(x, x, transpose_a=True), MATRIX, [2, 2]),
    Case("batched matmul", lambda x: tf.matmul(x, x, transpose_b=True), normal(4, 2, 3), [2, 2, 1]),
    Case(
        "matmul, broadcast batch",
        lambda x: x @ THIRD,
        normal(4, 2, 3),
        [4, 1, 1],
    ),
    Case("attention, by example", attention, normal(4, 3, 8), [4, 1, 1]),
    Case("attention, by position", attention, normal(2, 4, 8), [1, 4, 1]),
    Case("attention, by feature", attention, normal(2, 4, 8), [1, 1, 4]),
    Case("einsum of one", lambda x: tf.einsum("ab->ba", x) * 2.0, MATRIX, [2, 2]),
    Case("conv same", conv(1, "SAME"), IMAGE, [1, 2, 2, 1]),
    Case("conv same, stride 2", conv(2, "SAME"), IMAGE, [1, 4, 1, 1]),
    Case("conv valid", conv(1, "VALID"), IMAGE, [1, 2, 2, 1]),
    Case("conv valid, stride 3", conv(3, "VALID"), IMAGE, [1, 2, 2, 1]),
    Case("conv explicit", conv(1, [[0, 0], [2, 1], [1, 2], [0, 0]]), IMAGE, [1, 2, 2, 1]),
    Case("conv, halo over two tiles", conv(1, "SAME", BIG_KERNEL), normal(2, 4, 4, 3), PER_IMAGE),
    Case("conv, odd size", conv(2, "SAME"), ODD_IMAGE, [1, 1, 2, 1]),
    Case("conv, fewer results than tiles", conv(2, "SAME"), normal(1, 4, 4, 3), PER_IMAGE),
    Case(
        "depthwise",
        lambda x: tf.nn.depthwise_conv2d(x, DEPTHWISE, [1, 1, 1, 1], "SAME"),
        IMAGE,
        [1, 2, 2, 1],
    ),
    Case("max pool", pool("MAX", 2, 2, "VALID"), IMAGE, [1, 2, 2, 1]),
    Case("max pool, overlapping", pool("MAX", 3, 2, "SAME"), IMAGE, [1, 2, 2, 1]),
    Case("max pool, overlapping by one", pool("MAX", 3, 1, "VALID"), IMAGE, PER_IMAGE),
    Case("average pool, padded", pool("AVG", 3, 2, "SAME"), IMAGE, [1, 2, 2, 1]),
    Case("average pool", pool("AVG", 3, 1, "VALID"), IMAGE, [1, 2, 2, 1]),
    Case("fused batch norm", batch_norm, IMAGE, [2, 2, 1, 1]),
    Case("fused batch norm, inference", inference_norm, IMAGE, [1, 2, 2, 1]),
    Case("softmax of a split axis", tf.nn.softmax, MATRIX, [2, 2]),
    Case("log softmax", tf.nn.log_softmax, normal(4, 8), [1, 4]),
    Case(
        "cross-entropy",
        lambda x: tf.nn.softmax_cross_entropy_with_logits(np.eye(8, dtype=np.float32), x),
        normal(8, 8),
        [2, 2],
    ),
    Case(
        "sparse cross-entropy",
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(CLASSES, x),
        normal(8, 8),
        [2, 2],
    ),
    Case(
        "lookup in whole table", lambda x: tf.gather(tf.constant(TABLE), x), CLASSES, [4], (), False
    ),
    Case("lookup in split rows", lambda x: tf.gather(x, CLASSES), TABLE, [4, 1]),
    Case("lookup in split columns", lambda x: tf.gather(x, CLASSES), normal(8, 4), [1, 4]),
    Case("one hot", lambda x: tf.one_hot(x, 8), CLASSES, [4], (), False),
    Case("transpose", lambda x: tf.transpose(x, [2, 0, 1]) * 2.0, normal(4, 2, 3), [2, 2, 1]),
    Case("concat and split", lambda x: tf.concat(tf.split(x, 2, 0)[::-1], 1), MATRIX, [2, 2]),
    Case("stack and unstack", lambda x: tf.stack(tf.unstack(x, axis=0)[:3], 1), MATRIX, [2, 2]),
    Case(
        "pad, tile, reverse",
        lambda x: tf.reverse(tf.tile(tf.pad(x, [[0, 0], [1, 2]]), [1, 2]), [1]),
        MATRIX,
        [4, 1],
    ),
    Case("reshape, kept", lambda x: tf.reshape(x, [2, 4, 6]) * 2.0, MATRIX, [2, 2]),
    Case("reshape, merged", lambda x: tf.reshape(x, [-1, 6]), normal(4, 2, 6), [4, 1, 1]),
    Case("reshape, joined first", lambda x: tf.reshape(x, [48]), MATRIX, [1, 2, 2][1:]),
    Case(
        "expand and squeeze",
        lambda x: tf.squeeze(x[:, None] * 3.0, [1]),
        MATRIX,
        [2, 2],
        ("StridedSlice", "StridedSliceGrad"),
    ),
    Case("expand dims", lambda x: tf.squeeze(tf.expand_dims(x, 1) * 3.0, [1]), MATRIX, [2, 2]),
    Case("slices", lambda x: x[1:7:2] + x[0], MATRIX, [2, 2]),
    Case("slice of another axis", lambda x: x[:, 1:4], MATRIX, [4, 1]),
    Case("tf.slice", lambda x: tf.slice(x, [0, 2], [-1, 3]), MATRIX, [4, 1]),
    Case("broadcast_to", lambda x: tf.broadcast_to(x, [3, 8, 6]) * 2.0, MATRIX, [2, 2]),
    Case("captured eager tensor", lambda x: x * CAPTURED, MATRIX, [2, 2]),
    Case("loop", looped, MATRIX, [2, 2]),
    Case("scan", lambda x: tf.scan(lambda a, b: a * 0.5 + b, x), normal(4, 8), [1, 4]),
    Case("map", lambda x: tf.map_fn(lambda row: row * 2.0, x), normal(4, 8), [1, 4]),
    Case(
        "branch", lambda x: tf.cond(tf.constant(1) > 0, lambda: x * 2.0, lambda: x), MATRIX, [2, 2]
    ),
    Case("function", tf.function(lambda x: tf.exp(x) / 3.0), MATRIX, [2, 2]),
    Case(
        "no rule",
        tf.linalg.diag_part,
        normal(4, 4),
        [2, 2],
        ("MatrixDiagPartV3", "MatrixDiagV3"),
        False,
    ),
    Case("sort", lambda x: tf.math.top_k(x, 2)[0], MATRIX, [2, 2], ("TopKV2", "Reshape"), False),
]


ROUNDING = 1e-4
"""Of the largest value. Tiles are summed in another order, which depends on the processor; the
exponentials of attention make 1.6e-5 of it. A tile in the wrong place differs by about 1."""


@cache
def strategy() -> Any:
    return make_strategy(1, 4, spmd=True)


@cache
def two_by_two() -> Any:
    return make_strategy(1, 2, spmd=True)


def _differentiated(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def both(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = fn(x)
            weighted = tf.reduce_sum(tf.cast(y, tf.float32) * tf.cos(tf.cast(y, tf.float32)))
        return y, tf.convert_to_tensor(tape.gradient(weighted, x))

    return both


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_partitioned_op_gives_the_result_of_one_device(case):
    cores = int(np.prod(case.split))
    on = strategy() if cores == 4 else two_by_two()
    fn = _differentiated(case.fn) if case.differentiable else lambda x: (case.fn(x),)

    def replica_fn(x):
        return fn(on.experimental_split_to_logical_devices(x, case.split))

    outputs = tf.function(lambda x: on.run(replica_fn, args=(x,)))(values(on, [case.x]))
    expected = tf.function(fn)(tf.constant(case.x))
    for a, b in zip(outputs, expected, strict=True):
        scale = max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(results(on, a)[0], b, atol=ROUNDING * scale)
    fallen = {each.op for each in on.extended.last_expansion.fallbacks}
    assert fallen <= set(case.falls_back), on.extended.last_expansion.fallback_table()
