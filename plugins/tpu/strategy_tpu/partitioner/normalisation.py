"""Fused batch normalization of a split batch or image, with the statistics of the whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

import tensorflow as tf

from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value, is_split, replicated

_AXES = [0, 1, 2]


@rule("FusedBatchNormV3")
def batch_norm(op: PartitionedOp) -> list[Value]:
    """Inputs: image, scale, offset, mean, variance.

    Outputs: image, mean, variance, three reserves.
    """
    layout = _layout(op, 0)
    image = op.tiles(0, layout)
    scale, offset, mean, variance = (op.whole(k) for k in range(1, 5))
    count = _count(op, 0)
    if not op.attr("is_training"):
        columns = op.per_core(image, scale, offset, mean, variance)
        return [op.result(columns[0], layout), *_whole(op, columns[1:])]
    require(op.attr("exponential_avg_factor") == 1.0, "running averages inside the op")
    epsilon = op.attr("epsilon")
    means = _mean(op, image, layout, count)
    centred = op.on_cores(lambda x, m: tf.cast(x, m.dtype) - m, image, means)
    variances = _mean(op, op.on_cores(tf.square, centred), layout, count)
    results = op.on_cores(
        lambda c, v, s, b, x: tf.cast(c * (s * tf.math.rsqrt(v + epsilon)) + b, x.dtype),
        centred,
        variances,
        scale,
        offset,
        image,
    )
    unbiased = op.on_cores(lambda v: v * (count / max(count - 1, 1)), variances)
    empty = op.on_cores(lambda v: tf.zeros([0], v.dtype), variances)
    others = _whole(op, [means, unbiased, means, variances, empty])
    return [op.result(results, layout), *others]


@rule("FusedBatchNormGradV3")
def batch_norm_gradient(op: PartitionedOp) -> list[Value]:
    """Gradients of image, scale and offset; the two sums over positions are all-reduced."""
    layout = _layout(op, 0)
    gradient, image = op.tiles(0, layout), op.tiles(1, layout)
    scale, mean, variance = (op.whole(k) for k in range(2, 5))
    count, epsilon = _count(op, 0), op.attr("epsilon")
    inverse = op.on_cores(lambda v: tf.math.rsqrt(v + epsilon), variance)
    normal = op.on_cores(lambda x, m, i: (tf.cast(x, m.dtype) - m) * i, image, mean, inverse)
    wide = op.on_cores(lambda g, m: tf.cast(g, m.dtype), gradient, mean)
    of_offset = _sum(op, wide, layout)
    of_scale = _sum(op, op.on_cores(tf.multiply, wide, normal), layout)
    if op.attr("is_training"):
        of_image = op.on_cores(
            lambda g, n, s, i, o, w, x: tf.cast(s * i * (g - o / count - n * (w / count)), x.dtype),
            wide,
            normal,
            scale,
            inverse,
            of_offset,
            of_scale,
            image,
        )
    else:
        of_image = op.on_cores(
            lambda g, s, i, x: tf.cast(g * s * i, x.dtype), wide, scale, inverse, image
        )
    empty = op.on_cores(lambda v: tf.zeros([0], v.dtype), variance)
    others = _whole(op, [of_scale, of_offset, empty, empty])
    return [op.result(of_image, layout), *others]


def _layout(op: PartitionedOp, position: int) -> Layout:
    require(op.attr("data_format") == b"NHWC", "channels come first")
    require(is_split(op.inputs[position]), "an operand that is not split")
    return op.layout(position).without([3])


def _count(op: PartitionedOp, position: int) -> int:
    value = op.inputs[position]
    assert isinstance(value, Sharded)
    sizes = [size for size in value.shape[:3] if size is not None]
    require(len(sizes) == 3, "a batch of unknown size")
    return math.prod(sizes)


def _sum(op: PartitionedOp, tiles: Sequence[tf.Tensor], layout: Layout) -> list[tf.Tensor]:
    sums = op.on_cores(lambda x: tf.reduce_sum(x, _AXES), tiles)
    return op.group.all_reduce(sums, [()] * op.num_cores, layout.coordinates, op.name)


def _mean(
    op: PartitionedOp, tiles: Sequence[tf.Tensor], layout: Layout, count: int
) -> list[tf.Tensor]:
    wide = op.on_cores(lambda x: tf.cast(x, tf.float32), tiles)
    return op.on_cores(lambda x: x / count, _sum(op, wide, layout))


def _whole(op: PartitionedOp, columns: Sequence[Sequence[tf.Tensor]]) -> list[Value]:
    """Vectors that every core has in full."""
    layout = replicated(1, op.num_cores)
    sizes = [tiles[0].shape.as_list() if tiles[0].shape.rank else [None] for tiles in columns]
    return [
        Sharded(tuple(tiles), layout, tuple(size))
        for tiles, size in zip(columns, sizes, strict=True)
    ]
