"""The context of a partitioning rule: an op, its operands with their layouts, and the cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import tensorflow as tf

from strategy_tpu.cloning import Template
from strategy_tpu.core_group import CoreGroup
from strategy_tpu.folding import known_value
from strategy_tpu.sharded import (
    Layout,
    Sharded,
    Size,
    Value,
    is_split,
    layout_of,
    rank_of,
    replicated,
)


class NoRule(Exception):  # noqa: N818 - an answer, not an error
    """Raised if an op cannot be partitioned in this way; the message says why."""


class PartitionedOp:
    """A traced op of one replica with at least one operand that is on several cores."""

    def __init__(self, template: Template, inputs: list[Value], group: CoreGroup) -> None:
        self.template = template
        self.inputs = inputs
        self.group = group
        self.created: list[tf.Operation] = []

    @property
    def type(self) -> str:
        return self.template.type

    @property
    def name(self) -> str:
        return str(self.template.op.name)

    @property
    def num_cores(self) -> int:
        return self.group.num_cores

    def attr(self, name: str) -> Any:
        """An attribute of the traced op."""
        return self.template.op.get_attr(name)

    def const(self, position: int) -> npt.NDArray[Any]:
        """Value of an operand that is known at tracing time; raises NoRule if it is not."""
        value = known_value(self.template.op.inputs[position])
        if value is None:
            raise NoRule("an operand is not a constant")
        return value

    def layout(self, position: int) -> Layout:
        return layout_of(self.inputs[position], self.num_cores)

    def output_shape(self, position: int = 0) -> tuple[Size, ...]:
        """Shape of the whole result; raises NoRule if its rank is unknown."""
        shape = self.template.op.outputs[position].shape
        if shape.rank is None:
            raise NoRule("a result of unknown rank")
        return tuple(shape.as_list())

    def most_split(self) -> Sharded:
        """The operand with the most tiles; the largest of them."""
        split = [value for value in self.inputs if isinstance(value, Sharded) and is_split(value)]
        return max(split, key=lambda value: (_num_tiles(value.grid), rank_of(value)))

    def tiles(self, position: int, layout: Layout) -> tuple[tf.Tensor, ...]:
        """Per core, its tile of an operand that is converted to `layout`."""
        return self.group.reshard(self.inputs[position], layout).tiles

    def whole(self, position: int) -> tuple[tf.Tensor, ...]:
        """Per core, an operand in full."""
        return self.group.replicate(self.inputs[position]).tiles

    def per_core(
        self,
        *operands: Sequence[tf.Tensor],
        attrs: Mapping[str, Any] | None = None,
        keep_handles: bool = True,
    ) -> list[list[tf.Tensor]]:
        """Create the op on every core. Operands are given by core; returns one list by core per
        output.

        With `keep_handles=False` the type information of a resulting list is dropped, because a
        core's list holds tiles while the traced list holds whole elements.
        """
        results: list[list[tf.Tensor]] = []
        for core in self.group.cores:
            inputs = [operand[core] for operand in operands]
            new = self.group.create(
                self.template, inputs, core, attrs=attrs, keep_handles=keep_handles
            )
            self.created.append(new)
            results.append(list(new.outputs))
        return [list(column) for column in zip(*results, strict=True)]

    def on_cores(
        self, fn: Callable[..., tf.Tensor], *operands: Sequence[tf.Tensor]
    ) -> list[tf.Tensor]:
        """Per core, `fn` applied to its operands, computed on that core."""
        results = []
        for core in self.group.cores:
            with self.group.on(core, self.name):
                results.append(fn(*[operand[core] for operand in operands]))
        return results

    def result(self, tiles: Sequence[tf.Tensor], layout: Layout, position: int = 0) -> Sharded:
        return Sharded(tuple(tiles), layout, self.output_shape(position))

    def replicated(self) -> list[Value]:
        """The op on every core, for operands that every core has in full."""
        shapes = [self.output_shape(k) for k in range(len(self.template.op.outputs))]
        columns = self.per_core(*[self.whole(k) for k in range(len(self.inputs))])
        return [
            Sharded(tuple(tiles), replicated(len(shape), self.num_cores), shape)
            for tiles, shape in zip(columns, shapes, strict=True)
        ]

    def on_one_core(self) -> list[Value]:
        """The op on core 0 only, which has its operands already."""
        dense = [value.tiles[0] if isinstance(value, Sharded) else value for value in self.inputs]
        new = self.group.create(self.template, dense, 0)
        self.created.append(new)
        return list(new.outputs)


Rule = Callable[[PartitionedOp], list[Value]]
RULES: dict[str, Rule] = {}
"""The rules by op type."""


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Register the rule of some op types."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(op_types, function))
        return function

    return register


def require(condition: bool, reason: str) -> None:
    """Raise NoRule unless the condition holds."""
    if not condition:
        raise NoRule(reason)


def _num_tiles(grid: Sequence[int]) -> int:
    total = 1
    for splits in grid:
        total *= splits
    return total
