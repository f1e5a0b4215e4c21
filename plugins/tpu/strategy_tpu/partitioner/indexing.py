"""Lookups and sums by index: gather, one-hot, segment sums."""

from __future__ import annotations

import tensorflow as tf

from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import (
    Sharded,
    Value,
    bounds,
    is_split,
    rank_of,
    replicated,
    shape_of,
)


@rule("GatherV2")
def gather(op: PartitionedOp) -> list[Value]:
    """Rows of a table by index. If the table is split by row, each core looks up its own rows."""
    require(not op.attr("batch_dims"), "a batched lookup")
    table, indices = op.inputs[0], op.inputs[1]
    axis = int(op.const(2)) % rank_of(table)
    if is_split(table):
        assert isinstance(table, Sharded)
        if table.layout.split_axes() == [axis] and not is_split(indices):
            return _from_split_rows(op, axis)
        return _from_split_columns(op, axis)
    layout = op.layout(1)
    (tiles,) = op.per_core(op.whole(0), op.tiles(1, layout), op.whole(2))
    before: list[int | None] = [None] * axis
    after: list[int | None] = [None] * (rank_of(table) - axis - 1)
    return [op.result(tiles, layout.pick([*before, *range(layout.rank), *after]))]


@rule("OneHot")
def one_hot(op: PartitionedOp) -> list[Value]:
    """The indices stay split; the new axis is whole."""
    layout = op.layout(0)
    axis = op.attr("axis") % (layout.rank + 1)
    (tiles,) = op.per_core(op.tiles(0, layout), *[op.whole(k) for k in range(1, 4)])
    axes: list[int | None] = list(range(layout.rank))
    axes.insert(axis, None)
    return [op.result(tiles, layout.pick(axes))]


@rule("UnsortedSegmentSum")
def segment_sum(op: PartitionedOp) -> list[Value]:
    """Each core sums its part of the rows (the gradient of a lookup), then an all-reduce.

    If columns are split, each core sums all rows of its own columns.
    """
    data, segments = op.inputs[0], op.inputs[1]
    rows = list(range(rank_of(segments)))
    layout = op.layout(0) if is_split(data) else op.layout(1)
    if is_split(data) and not any(axis in rows for axis in layout.split_axes()):
        (tiles,) = op.per_core(op.tiles(0, layout), op.whole(1), op.whole(2))
        return [op.result(tiles, layout.pick([None, *range(len(rows), layout.rank)]))]
    layout = layout.pick([*rows, *[None] * (rank_of(data) - len(rows))])
    require(not layout.is_replicated, "rows that are not split")
    (tiles,) = op.per_core(op.tiles(0, layout), op.tiles(1, layout.pick(rows)), op.whole(2))
    summed = op.group.all_reduce(tiles, [()] * op.num_cores, layout.coordinates, op.name)
    return [op.result(summed, replicated(len(op.output_shape()), op.num_cores))]


def _from_split_columns(op: PartitionedOp, axis: int) -> list[Value]:
    table = op.inputs[0]
    assert isinstance(table, Sharded)
    table = op.group.release(table, [axis])
    indices = op.whole(1)
    (tiles,) = op.per_core(table.tiles, indices, op.whole(2))
    num_index_axes = rank_of(op.inputs[1])
    columns = list(range(axis + 1, len(table.shape)))
    axes: list[int | None] = [*range(axis), *[None] * num_index_axes, *columns]
    return [op.result(tiles, table.layout.pick(axes))]


def _from_split_rows(op: PartitionedOp, axis: int) -> list[Value]:
    table = op.inputs[0]
    assert isinstance(table, Sharded)
    size = shape_of(table)[axis]
    require(size is not None, "a table of unknown size")
    assert size is not None
    indices, parts = op.whole(1), []
    for core in op.group.cores:
        point = table.layout.coordinates[core]
        start, stop = bounds(size, table.grid[axis], point[axis])
        with op.group.on(core, op.name):
            local = tf.cast(indices[core], tf.int64) - start
            mine = (local >= 0) & (local < stop - start)
            rows = tf.gather(table.tiles[core], tf.where(mine, local, 0), axis=axis)
            trailing = [1] * (len(table.shape) - axis - 1)
            mask = tf.reshape(mine, tf.concat([tf.shape(mine), trailing], 0))
            parts.append(tf.where(mask, rows, tf.zeros_like(rows)))
    summed = op.group.all_reduce(parts, [()] * op.num_cores, table.layout.coordinates, op.name)
    return [op.result(summed, replicated(len(op.output_shape()), op.num_cores))]
