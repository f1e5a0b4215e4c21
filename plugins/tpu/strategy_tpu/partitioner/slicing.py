"""Slices: axes that are taken in full stay split; others are joined first (on every core)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

from strategy_tpu.cloning import attr
from strategy_tpu.folding import known_value
from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Sharded, Size, Value, shape_of


@rule("Slice")
def slice_(op: PartitionedOp) -> list[Value]:
    """Begin and size along every axis."""
    value, (begin, size) = op.most_split(), (op.const(1), op.const(2))
    cut = [
        axis
        for axis, whole in enumerate(value.shape)
        if begin[axis] != 0 or (size[axis] != -1 and size[axis] != whole)
    ]
    value = op.group.release(value, cut)
    sizes = [size[axis] if axis in cut else -1 for axis in range(len(value.shape))]
    tiles = op.on_cores(lambda piece: tf.slice(piece, list(begin), sizes), value.tiles)
    return [op.result(tiles, value.layout)]


@rule("StridedSlice")
def strided_slice(op: PartitionedOp) -> list[Value]:
    """Begin, end and stride along the first axes, with bit masks of those that do not count."""
    value = op.inputs[0]
    require(isinstance(value, Sharded), "only the place of the slice is partitioned")
    assert isinstance(value, Sharded)
    cuts = _cuts(op, 1, value.shape)
    value = op.group.release(value, cuts.touched)
    (tiles,) = op.per_core(value.tiles, *[op.whole(k) for k in (1, 2, 3)], attrs=cuts.masks)
    kept = [axis for axis in range(len(value.shape)) if axis not in cuts.shrunk]
    return [op.result(tiles, value.layout.pick(kept))]


@rule("StridedSliceGrad")
def strided_slice_gradient(op: PartitionedOp) -> list[Value]:
    """The gradient placed into a tensor of zeros."""
    gradient, shape = op.inputs[4], op.output_shape()
    require(isinstance(gradient, Sharded), "only the place of the slice is partitioned")
    assert isinstance(gradient, Sharded)
    cuts = _cuts(op, 1, shape)
    kept = [axis for axis in range(len(shape)) if axis not in cuts.shrunk]
    gradient = op.group.release(
        gradient, [kept.index(axis) for axis in cuts.touched if axis in kept]
    )
    axes = [kept.index(axis) if axis in kept else None for axis in range(len(shape))]
    layout = gradient.layout.pick(axes)
    shapes = []
    for core, full in enumerate(op.whole(0)):
        with op.group.on(core, op.name):
            sizes = tf.unstack(full, len(shape))
            for axis in layout.split_axes():
                local = tf.shape(gradient.tiles[core], out_type=full.dtype)
                sizes[axis] = local[kept.index(axis)]
            shapes.append(tf.stack(sizes))
    bounds = [op.whole(k) for k in (1, 2, 3)]
    (tiles,) = op.per_core(shapes, *bounds, gradient.tiles, attrs=cuts.masks)
    return [op.result(tiles, layout)]


@rule("XlaDynamicUpdateSlice")
def update_slice(op: PartitionedOp) -> list[Value]:
    """Replace a part of a tensor (the gradient of a slice); axes replaced in full stay split."""
    update, shape = op.inputs[1], op.output_shape()
    touched = [
        axis
        for axis, (size, part) in enumerate(zip(shape, shape_of(update), strict=True))
        if size is None or size != part
    ]
    layout = op.most_split().layout.without(touched)
    (tiles,) = op.per_core(op.tiles(0, layout), op.tiles(1, layout), op.whole(2))
    return [op.result(tiles, layout)]


@dataclass(frozen=True)
class _Cuts:
    """The effect of a strided slice on each axis of its operand."""

    touched: list[int]
    shrunk: list[int]
    masks: dict[str, object]
    """Attributes that mark the untouched axes as whole, whatever the size of their tiles."""


def _cuts(op: PartitionedOp, first: int, shape: Sequence[Size]) -> _Cuts:
    """`first` is the position of the operand `begin`; end and strides follow it."""
    require(not op.attr("ellipsis_mask") and not op.attr("new_axis_mask"), "an ellipsis")
    given = op.template.op.inputs[first].shape[0]
    require(given is not None, "a slice of unknown rank")
    begin, end, strides = (known_value(op.template.op.inputs[first + k]) for k in range(3))
    begin_mask, end_mask = op.attr("begin_mask"), op.attr("end_mask")
    shrink = op.attr("shrink_axis_mask")
    touched, shrunk = [], []
    for axis in range(given):
        bit = 1 << axis
        from_start = begin_mask & bit or (begin is not None and begin[axis] == 0)
        size = shape[axis]
        to_end = end_mask & bit or (end is not None and size is not None and end[axis] >= size)
        forward = strides is not None and strides[axis] == 1
        if shrink & bit:
            shrunk.append(axis)
        if shrink & bit or not (from_start and to_end and forward):
            touched.append(axis)
        else:
            begin_mask, end_mask = begin_mask | bit, end_mask | bit
    masks: dict[str, object] = {"begin_mask": attr(i=begin_mask), "end_mask": attr(i=end_mask)}
    return _Cuts(touched, shrunk, masks)
