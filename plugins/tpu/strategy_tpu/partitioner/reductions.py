"""Reductions: each core reduces its tile, and the cores that share a result all-reduce it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value

_KINDS = {"Sum": "sum", "Max": "max", "Min": "min", "Prod": "prod", "All": "all", "Any": "any"}


@rule(*_KINDS)
def reduce(op: PartitionedOp) -> list[Value]:
    """Sum, Max, Min, Prod, All and Any along constant axes."""
    return _reduced(op, _axes(op), bool(op.attr("keep_dims")), _KINDS[op.type])


@rule("Mean")
def mean(op: PartitionedOp) -> list[Value]:
    """The sum over all cores divided by the total count, because tiles may differ in size."""
    value = _operand(op)
    axes = _axes(op)
    keep = bool(op.attr("keep_dims"))
    totals = op.on_cores(lambda tile: tf.reduce_sum(tile, axes, keepdims=keep), value.tiles)
    summed = _joined(op, value.layout, axes, totals, "sum")
    counts = _counts(op, value, axes, summed)
    tiles = op.on_cores(lambda total, count: total / count, summed, counts)
    return [op.result(tiles, _result_layout(value.layout, axes, keep))]


@rule("BiasAddGrad")
def bias_add_grad(op: PartitionedOp) -> list[Value]:
    """The sum over all axes except the channels."""
    require(op.attr("data_format") != b"NCHW", "channels come first")
    value = _operand(op)
    return _reduced(op, list(range(len(value.shape) - 1)), False, "sum")


@rule("L2Loss")
def l2_loss(op: PartitionedOp) -> list[Value]:
    """Half the sum of squares over all elements."""
    return _reduced(op, list(range(len(_operand(op).shape))), False, "sum")


@rule("ArgMax", "ArgMin", "Cumsum", "Cumprod")
def along_one_axis(op: PartitionedOp) -> list[Value]:
    """An op along one axis, which is joined first if it is split."""
    value = _operand(op)
    axis = int(op.const(1)) % len(value.shape)
    value = op.group.release(value, [axis])
    (tiles,) = op.per_core(value.tiles, op.whole(1))
    keep = op.type.startswith("Cum")
    return [op.result(tiles, value.layout if keep else _result_layout(value.layout, [axis], False))]


def _operand(op: PartitionedOp) -> Sharded:
    value = op.inputs[0]
    require(isinstance(value, Sharded), "the reduced operand is not partitioned")
    assert isinstance(value, Sharded)
    return value


def _axes(op: PartitionedOp) -> list[int]:
    rank = len(_operand(op).shape)
    return [int(axis) % rank for axis in np.atleast_1d(op.const(1))] if rank else []


def _reduced(op: PartitionedOp, axes: Sequence[int], keep: bool, kind: str) -> list[Value]:
    value = _operand(op)
    others = [op.whole(k) for k in range(1, len(op.inputs))]
    (tiles,) = op.per_core(value.tiles, *others)
    tiles = _joined(op, value.layout, axes, tiles, kind)
    return [op.result(tiles, _result_layout(value.layout, axes, keep))]


def _joined(
    op: PartitionedOp, layout: Layout, axes: Sequence[int], tiles: list[tf.Tensor], kind: str
) -> list[tf.Tensor]:
    left = [axis for axis in range(layout.rank) if axis not in axes]
    keys = [tuple(point[axis] for axis in left) for point in layout.coordinates]
    parts = [tuple(point[axis] for axis in axes) for point in layout.coordinates]
    return op.group.all_reduce(tiles, keys, parts, op.name, kind)


def _result_layout(layout: Layout, axes: Sequence[int], keep: bool) -> Layout:
    if keep:
        return layout.without(axes)
    return layout.pick([axis for axis in range(layout.rank) if axis not in axes])


def _counts(
    op: PartitionedOp, value: Sharded, axes: Sequence[int], like: list[tf.Tensor]
) -> list[tf.Tensor]:
    sizes = [value.shape[axis] for axis in axes]
    known = [size for size in sizes if size is not None]
    if len(known) == len(sizes):
        return op.on_cores(lambda total: tf.constant(math.prod(known), total.dtype), like)
    point = value.layout.coordinates
    parts = [tuple(point[core][axis] for axis in axes) for core in op.group.cores]
    local = op.on_cores(
        lambda tile: tf.reduce_prod(tf.gather(tf.shape(tile), list(axes))), value.tiles
    )
    left = [axis for axis in range(len(value.shape)) if axis not in axes]
    keys = [tuple(point[core][axis] for axis in left) for core in op.group.cores]
    total = op.group.all_reduce(local, keys, parts, op.name)
    return op.on_cores(lambda count, other: tf.cast(count, other.dtype), total, like)
