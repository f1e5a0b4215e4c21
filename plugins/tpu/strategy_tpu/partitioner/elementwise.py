"""Elementwise ops: each core computes its tile, with all operands in the same layout."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value, rank_of, shape_of

UNARY = """Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Cos Cosh Digamma Elu Erf Erfc Exp Expm1
Floor Identity Inv IsFinite IsInf IsNan LeakyRelu Lgamma Log Log1p LogicalNot Neg OnesLike
PreventGradient Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Snapshot Softplus
Softsign Sqrt Square StopGradient Tan Tanh ZerosLike CheckNumerics"""

BINARY = """Add AddV2 Atan2 BiasAdd Div DivNoNan EluGrad Equal FloorDiv FloorMod Greater
GreaterEqual InvGrad LeakyReluGrad Less LessEqual LogicalAnd LogicalOr Maximum Minimum
Mod Mul MulNoNan NotEqual Pow RealDiv ReciprocalGrad ReluGrad Relu6Grad RsqrtGrad
SeluGrad SigmoidGrad SoftplusGrad SoftsignGrad SqrtGrad SquaredDifference Sub TanhGrad
TruncateDiv TruncateMod Xdivy Xlog1py Xlogy"""

OTHERS = "AddN ClipByValue SelectV2"


@rule(*UNARY.split(), *BINARY.split(), *OTHERS.split())
def elementwise(op: PartitionedOp) -> list[Value]:
    """Any number of operands with numpy's broadcasting, in the layout of the most split one."""
    if op.type == "BiasAdd":
        require(op.attr("data_format") != b"NCHW", "channels come first")
    shape = op.output_shape()
    guide = op.most_split()
    pad: list[int | None] = [None] * (len(shape) - rank_of(guide))
    layout = guide.layout.pick([*pad, *range(rank_of(guide))])
    operands = [_operand(op, k, layout) for k in range(len(op.inputs))]
    (tiles,) = op.per_core(*operands)
    return [op.result(tiles, layout)]


@rule("IdentityN")
def identities(op: PartitionedOp) -> list[Value]:
    """Returns every operand unchanged."""
    return list(op.inputs)


@rule("Select")
def select(op: PartitionedOp) -> list[Value]:
    """The old Select op: a condition of lower rank selects rows, which is not broadcasting."""
    require(len({rank_of(value) for value in op.inputs}) == 1, "operands of different rank")
    return elementwise(op)


def _operand(op: PartitionedOp, position: int, layout: Layout) -> Sequence[tf.Tensor]:
    """Per core, the part of an operand that a tile of the result needs."""
    value = op.inputs[position]
    shape = shape_of(value)
    offset = layout.rank - len(shape)
    unknown = [
        axis
        for axis, size in enumerate(shape)
        if size is None
        and layout.grid[offset + axis] > 1
        and not _is_split_like(value, axis, layout)
    ]
    if not unknown:
        return op.tiles(position, operand_layout(value, layout))
    # The size may be 1, to be broadcast, or the result's, to be sliced: decided at run time.
    known = operand_layout(value, layout).without(unknown)
    tiles = []
    for core, tile in enumerate(op.tiles(position, known)):
        with op.group.on(core, op.name):
            tiles.append(_cut_unless_one(tile, unknown, layout, core))
    return tiles


def _is_split_like(value: Value, axis: int, layout: Layout) -> bool:
    target = layout.rank - rank_of(value) + axis
    return isinstance(value, Sharded) and value.grid[axis] == layout.grid[target]


def _cut_unless_one(tile: tf.Tensor, axes: Sequence[int], layout: Layout, core: int) -> tf.Tensor:
    sizes = tf.shape(tile)
    index = [slice(None)] * tile.shape.rank
    for axis in axes:
        target = layout.rank - tile.shape.rank + axis
        splits, i = layout.grid[target], layout.coordinates[core][target]
        start = tf.where(sizes[axis] == 1, 0, sizes[axis] * i // splits)
        stop = tf.where(sizes[axis] == 1, 1, sizes[axis] * (i + 1) // splits)
        index[axis] = slice(start, stop)
    return tile[tuple(index)]


def operand_layout(value: Value, layout: Layout) -> Layout:
    """Layout of an operand that broadcasts against a result in `layout`: size 1 is not split."""
    shape = shape_of(value)
    offset = layout.rank - len(shape)
    axes: list[int | None] = []
    for axis, size in enumerate(shape):
        target = offset + axis
        splits = layout.grid[target]
        axes.append(None if splits == 1 or size == 1 else target)
    return layout.pick(axes)
