"""Ops on a variable with one copy per core (SPMD): reads, writes and lookups on every core.

A write copies core 0's value to all copies, so that they stay equal bit for bit.
"""

from __future__ import annotations

import tensorflow as tf

from strategy_tpu.partitioner.rule import NoRule, PartitionedOp
from strategy_tpu.sharded import CoreHandles, Sharded, Value, is_split, rank_of, replicated

_READS = frozenset(("ReadVariableOp", "VariableShape", "VarIsInitializedOp"))


def on_every_core(op: PartitionedOp) -> list[Value]:
    """The op on every core, with the core's own copy of the variable."""
    if op.type == "ResourceGather" and is_split(op.inputs[1]):
        return _gather(op)
    operands = [
        value.handles if isinstance(value, CoreHandles) else _same_bits(op, value)
        for value in op.inputs
    ]
    columns = op.per_core(*operands)
    results: list[Value] = []
    for position, tiles in enumerate(columns):
        shape = op.output_shape(position)
        results.append(Sharded(tuple(tiles), replicated(len(shape), op.num_cores), shape))
    return results


def _same_bits(op: PartitionedOp, value: Value) -> tuple[tf.Tensor, ...]:
    """The operand on each core. What is written is core 0's value on all.

    Each core could compute its own: they would add in different orders, and the copies of the
    variable would drift apart by the last bit.
    """
    if op.type in _READS or not isinstance(value, Sharded):
        return op.group.replicate(value).tiles
    return op.group.replicate(op.group.gather(value, 0)).tiles


def _gather(op: PartitionedOp) -> list[Value]:
    """An embedding lookup: each core looks up its part of the indices in its own copy."""
    handles, indices = op.inputs
    if not isinstance(handles, CoreHandles) or op.attr("batch_dims"):
        raise NoRule("a batched lookup")
    shape = op.output_shape()
    layout = op.layout(1)
    axes = [*range(layout.rank), *[None] * (len(shape) - rank_of(indices))]
    (tiles,) = op.per_core(handles.handles, op.tiles(1, layout))
    return [op.result(tiles, layout.pick(axes))]
