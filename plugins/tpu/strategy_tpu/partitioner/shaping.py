"""Reshape, transpose, concatenate, split and pad: tile by tile along axes that are not split.

If an op needs a split axis as a whole, its tiles are joined first (on every core, not on core 0),
and the other axes stay split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from strategy_tpu.partitioner.rule import NoRule, PartitionedOp, require, rule
from strategy_tpu.sharded import Sharded, Size, Value, replicated, shape_of


@rule("Transpose")
def transpose(op: PartitionedOp) -> list[Value]:
    value, order = op.most_split(), [int(axis) for axis in op.const(1)]
    (tiles,) = op.per_core(value.tiles, op.whole(1))
    return [op.result(tiles, value.layout.pick(order))]


@rule("ExpandDims")
def expand_dims(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    axes: list[int | None] = list(range(len(value.shape)))
    axes.insert(int(op.const(1)) % (len(axes) + 1), None)
    (tiles,) = op.per_core(value.tiles, op.whole(1))
    return [op.result(tiles, value.layout.pick(axes))]


@rule("Squeeze")
def squeeze(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    dims = [axis % len(value.shape) for axis in op.attr("squeeze_dims")]
    require(bool(dims), "axes that are only known when the step runs")
    (tiles,) = op.per_core(value.tiles)
    kept = [axis for axis in range(len(value.shape)) if axis not in dims]
    return [op.result(tiles, value.layout.pick(kept))]


@rule("ConcatV2")
def concat(op: PartitionedOp) -> list[Value]:
    rank = len(op.output_shape())
    axis = int(op.const(len(op.inputs) - 1)) % rank
    layout = op.most_split().layout.without([axis])
    operands = [op.tiles(k, layout) for k in range(len(op.inputs) - 1)]
    (tiles,) = op.per_core(*operands, op.whole(len(op.inputs) - 1))
    return [op.result(tiles, layout)]


@rule("Pack")
def pack(op: PartitionedOp) -> list[Value]:
    layout = op.most_split().layout
    axes: list[int | None] = list(range(layout.rank))
    axes.insert(op.attr("axis") % (layout.rank + 1), None)
    (tiles,) = op.per_core(*[op.tiles(k, layout) for k in range(len(op.inputs))])
    return [op.result(tiles, layout.pick(axes))]


@rule("Unpack")
def unpack(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    axis = op.attr("axis") % len(value.shape)
    value = op.group.release(value, [axis])
    kept = value.layout.pick([each for each in range(len(value.shape)) if each != axis])
    columns = op.per_core(value.tiles)
    return [op.result(tiles, kept, k) for k, tiles in enumerate(columns)]


@rule("Split", "SplitV")
def split(op: PartitionedOp) -> list[Value]:
    """The axis is the first input of `Split` and the last of `SplitV`."""
    axis_at, data = (0, 1) if op.type == "Split" else (2, 0)
    value = op.inputs[data]
    assert isinstance(value, Sharded)
    value = op.group.release(value, [int(op.const(axis_at)) % len(value.shape)])
    operands = [value.tiles if k == data else op.whole(k) for k in range(len(op.inputs))]
    columns = op.per_core(*operands)
    return [op.result(tiles, value.layout, k) for k, tiles in enumerate(columns)]


@rule("Tile")
def tile(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    repeated = [axis for axis, times in enumerate(op.const(1)) if times != 1]
    value = op.group.release(value, repeated)
    (tiles,) = op.per_core(value.tiles, op.whole(1))
    return [op.result(tiles, value.layout)]


@rule("Pad", "PadV2", "MirrorPad")
def pad(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    padded = [axis for axis, around in enumerate(op.const(1)) if any(around)]
    value = op.group.release(value, padded)
    others = [op.whole(k) for k in range(1, len(op.inputs))]
    (tiles,) = op.per_core(value.tiles, *others)
    return [op.result(tiles, value.layout)]


@rule("ReverseV2")
def reverse(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    axes = [int(axis) % len(value.shape) for axis in op.const(1)]
    value = op.group.release(value, axes)
    (tiles,) = op.per_core(value.tiles, op.whole(1))
    return [op.result(tiles, value.layout)]


@rule("BroadcastTo")
def broadcast_to(op: PartitionedOp) -> list[Value]:
    value, shape = op.most_split(), op.output_shape()
    new = len(shape) - len(value.shape)
    axes: list[int | None] = [*[None] * new, *range(len(value.shape))]
    layout = value.layout.pick(axes)
    wanted = op.whole(1)

    def broadcast(piece: tf.Tensor, target: tf.Tensor) -> tf.Tensor:
        sizes = tf.unstack(tf.cast(target, tf.int32), len(shape))
        for axis in layout.split_axes():
            sizes[axis] = tf.shape(piece)[axis - new]
        return tf.broadcast_to(piece, tf.stack(sizes))

    return [op.result(op.on_cores(broadcast, value.tiles, wanted), layout)]


@rule("Reshape")
def reshape(op: PartitionedOp) -> list[Value]:
    """An axis stays split if it leads its group of axes before and after, and divides evenly."""
    value = op.inputs[0]
    assert isinstance(value, Sharded)
    target = op.output_shape()
    moved = _moved_axes(value, target)
    value = op.group.release(value, [a for a in value.layout.split_axes() if a not in moved])
    axes: list[int | None] = [None] * len(target)
    for source, target_axis in moved.items():
        axes[target_axis] = source
    layout = value.layout.pick(axes)

    def local(piece: tf.Tensor) -> tf.Tensor:
        unknown = [axis for axis, size in enumerate(target) if size is None]
        require(len(unknown) <= 1, "several axes of unknown size")
        sizes = [
            -1 if size is None else size // layout.grid[axis] for axis, size in enumerate(target)
        ]
        return tf.reshape(piece, sizes)

    return [op.result(op.on_cores(local, value.tiles), layout)]


@rule("Shape", "ShapeN")
def shape(op: PartitionedOp) -> list[Value]:
    """The shape of the whole tensor, on every core."""
    return [_shape(op, value) for value in op.inputs]


@rule("Rank", "Size")
def rank_or_size(op: PartitionedOp) -> list[Value]:
    value = op.most_split()
    known = [size for size in value.shape if size is not None]
    require(op.type == "Rank" or len(known) == len(value.shape), "an axis of unknown size")
    number = len(value.shape) if op.type == "Rank" else math.prod(known)
    dtype = op.template.dtypes[0]
    tiles = op.on_cores(lambda _: tf.constant(number, dtype), value.tiles)
    return [op.result(tiles, replicated(0, op.num_cores))]


def _shape(op: PartitionedOp, value: Value) -> Value:
    dtype = tf.as_dtype(op.attr("out_type"))
    sizes = shape_of(value)
    spread = op.group.replicate(value) if not isinstance(value, Sharded) else value

    def whole(piece: tf.Tensor) -> tf.Tensor:
        if all(size is not None for size in sizes):
            return tf.constant(sizes, dtype)
        return tf.shape(piece, out_type=dtype)

    tiles = op.on_cores(whole, spread.tiles)
    for axis, size in enumerate(sizes):
        if size is None and spread.grid[axis] > 1:
            tiles = _with_sum_along(op, spread, tiles, axis)
    result: tuple[Size, ...] = (len(sizes),)
    return Sharded(tuple(tiles), replicated(1, op.num_cores), result)


def _with_sum_along(
    op: PartitionedOp, value: Sharded, shapes: list[tf.Tensor], axis: int
) -> list[tf.Tensor]:
    """Shapes whose entry `axis` is the sum over the tiles along that axis."""
    points = value.layout.coordinates
    keys = [point[:axis] + point[axis + 1 :] for point in points]
    local = op.on_cores(lambda shape: shape[axis], shapes)
    total = op.group.all_reduce(local, keys, [point[axis] for point in points], op.name)
    hot = np.eye(len(value.shape), dtype=np.int64)[axis]
    return op.on_cores(
        lambda shape, size: tf.where(tf.constant(hot == 1), size, shape), shapes, total
    )


def _moved_axes(value: Sharded, target: Sequence[Size]) -> dict[int, int]:
    """Maps each split axis to the axis of the reshaped tensor that takes over its tiles."""
    moved = {}
    for sources, places in _groups(value.shape, target):
        leading = next((axis for axis in sources if value.shape[axis] != 1), None)
        axis_to = next((axis for axis in places if target[axis] != 1), None)
        if leading is None or axis_to is None or value.grid[leading] == 1:
            continue
        if any(value.grid[axis] > 1 for axis in sources if axis != leading):
            continue
        before, after, splits = value.shape[leading], target[axis_to], value.grid[leading]
        same = before is None and after is None and len(sources) == len(places) == 1
        even = before and after and before % splits == 0 and after % splits == 0
        if same or even:
            moved[leading] = axis_to
    return moved


def _groups(before: Sequence[Size], after: Sequence[Size]) -> list[tuple[list[int], list[int]]]:
    """Shortest runs of axes with the same number of elements before and after."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(before) and j < len(after):
        left, right = [i], [j]
        a, b = before[i], after[j]
        i, j = i + 1, j + 1
        while a != b:
            if a is None or b is None:
                raise NoRule("an axis of unknown size is regrouped")
            if a < b:
                if i == len(before):
                    raise NoRule("axes that cannot be regrouped")
                a, left, i = a * (before[i] or 0), [*left, i], i + 1
            else:
                if j == len(after):
                    raise NoRule("axes that cannot be regrouped")
                b, right, j = b * (after[j] or 0), [*right, j], j + 1
        groups.append((left, right))
    return groups
