"""MatMul, batched MatMul and Einsum: one rule over labelled axes.

A label that is split in the result stays split. A contracted label leaves partial sums, which the
cores all-reduce. If two operands are split differently, the less split one is converted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from strategy_tpu.partitioner.rule import PartitionedOp, require, rule
from strategy_tpu.sharded import Layout, Sharded, Value, is_split, rank_of, shape_of


@rule("MatMul")
def matmul(op: PartitionedOp) -> list[Value]:
    """Two matrices, either of which may be transposed."""
    a = "km" if op.attr("transpose_a") else "mk"
    b = "nk" if op.attr("transpose_b") else "kn"
    return contract(op, [a, b], "mn")


@rule("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(op: PartitionedOp) -> list[Value]:
    """Matrices in the last two axes; the axes before are broadcast."""
    batch = "abcdefgh"[: len(op.output_shape()) - 2]
    ranks = [rank_of(value) - 2 for value in op.inputs]
    a = batch[len(batch) - ranks[0] :] + ("km" if op.attr("adj_x") else "mk")
    b = batch[len(batch) - ranks[1] :] + ("nk" if op.attr("adj_y") else "kn")
    return contract(op, [a, b], batch + "mn")


@rule("Einsum")
def einsum(op: PartitionedOp) -> list[Value]:
    """Any equation without repeated or elided labels in an operand."""
    equation = op.attr("equation").decode().replace(" ", "")
    require("..." not in equation, "an equation with an ellipsis")
    inputs, output = equation.split("->")
    operands = inputs.split(",")
    require(all(len(set(labels)) == len(labels) for labels in operands), "a repeated label")
    return contract(op, operands, output)


@dataclass
class _Labels:
    """How each label is split: the number of tiles, and the coordinate of each core."""

    num_cores: int
    splits: dict[str, int] = field(default_factory=dict)
    points: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def add(self, label: str, splits: int, points: tuple[int, ...]) -> None:
        """Split a label, unless some combination of tiles would then be on no core."""
        points_now = {**self.points, label: points}
        combinations = set(zip(*points_now.values(), strict=True))
        if len(combinations) == math.prod(self.splits.values()) * splits:
            self.splits[label], self.points = splits, points_now

    def layout(self, labels: Sequence[str | None]) -> Layout:
        grid = tuple(self.splits.get(label, 1) if label else 1 for label in labels)
        none = (0,) * self.num_cores
        columns = [self.points.get(label, none) if label else none for label in labels]
        rows = tuple(zip(*columns, strict=True)) if columns else ((),) * self.num_cores
        return Layout(grid, rows)


def contract(op: PartitionedOp, operands: Sequence[str], output: str) -> list[Value]:
    """Multiply operands whose axes have these labels, and sum over the labels not in `output`."""
    sizes = dict(zip(output, op.output_shape(), strict=True))
    named = [
        [None if size == 1 and sizes.get(label, 1) != 1 else label for label, size in pairs]
        for pairs in (
            list(zip(labels, shape_of(value), strict=True))
            for labels, value in zip(operands, op.inputs, strict=True)
        )
    ]
    chosen = _Labels(op.num_cores)
    order = sorted(range(len(operands)), key=lambda k: -math.prod(op.layout(k).grid))
    for k in order:
        value = op.inputs[k]
        if isinstance(value, Sharded) and is_split(value):
            for axis, label in enumerate(named[k]):
                if label and value.grid[axis] > 1 and label not in chosen.splits:
                    points = tuple(point[axis] for point in value.layout.coordinates)
                    chosen.add(label, value.grid[axis], points)
    tiles = [op.tiles(k, chosen.layout(labels)) for k, labels in enumerate(named)]
    (results,) = op.per_core(*tiles)
    summed = [label for label in chosen.splits if label not in output]
    layout = chosen.layout(list(output))
    parts = chosen.layout(summed).coordinates
    results = op.group.all_reduce(results, layout.coordinates, parts, op.name)
    return [op.result(results, layout)]
