"""Finds the rule for an op on partitioned operands, or falls back to core 0 and reports it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib import import_module

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.cloning import Template
from strategy_tpu.core_group import CoreGroup
from strategy_tpu.partitioner import variables
from strategy_tpu.partitioner.lists import LIST_RULES, MAKERS
from strategy_tpu.partitioner.rule import RULES, NoRule, PartitionedOp
from strategy_tpu.sharded import CoreHandles, Sharded, Value, is_split, tiled


def annotate(template: Template, value: Value, group: CoreGroup) -> Value:
    """The value in the layout that the annotation requests."""
    if isinstance(value, CoreHandles) or group.num_cores == 1:
        return value
    sharding = private_tf.OpSharding()
    sharding.ParseFromString(template.op.get_attr("sharding"))
    kind = private_tf.OpSharding
    if sharding.type == kind.MAXIMAL:
        return _on_core(template, value, group, int(sharding.tile_assignment_devices[0]))
    if sharding.type == kind.REPLICATED:
        return group.replicate(value)
    if sharding.type == kind.OTHER:
        grid = list(sharding.tile_assignment_dimensions)
        cores = list(sharding.tile_assignment_devices)
        return group.reshard(value, tiled(grid, cores))
    raise NotImplementedError(
        f"The emulation knows no XLA sharding of type {kind.Type.Name(sharding.type)}, which "
        f"{template.op.name} asks for. The annotations of tf.distribute.TPUStrategy are supported."
    )


def _on_core(
    template: Template, value: Sharded | tf.Tensor, group: CoreGroup, core: int
) -> tf.Tensor:
    tensor = group.gather(value, core) if isinstance(value, Sharded) else value
    if tensor.device in group.devices:
        group.recorder.transfer(tensor, tensor.device, group.devices[core], "placement")
    with group.on(core, template.op.name):
        return tf.identity(tensor)


FAMILIES = (
    "elementwise",
    "reductions",
    "contraction",
    "convolution",
    "pooling",
    "normalisation",
    "softmax",
    "indexing",
    "shaping",
    "slicing",
    "lists",
)
"""Each is a module that adds its rules to the table when it is imported."""
for _family in FAMILIES:
    import_module(f"{__package__}.{_family}")

_ON_ONE_CORE = MAKERS | {"While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"}

_WRITES = frozenset(("AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp"))
"""A write to a variable with a single copy belongs on the variable's core, and is no fallback."""

Emission = tuple[list[tf.Operation], list[Value]]


def partition(template: Template, inputs: Sequence[Value], group: CoreGroup) -> Emission | None:
    """Emit an op on the cores of a replica; None if it needs a single core only."""
    if template.type == "XlaSharding":
        return _emission([annotate(template, inputs[0], group)])
    if not any(isinstance(value, Sharded | CoreHandles) for value in inputs):
        return None
    op = PartitionedOp(template, list(inputs), group)
    try:
        results = _apply(op)
    except NoRule as reason:
        _report_fallback(op, str(reason))
        return None
    group.recorder.partitioned(template.type)
    emitted, values = _emission(results)
    return emitted or op.created, values


def _apply(op: PartitionedOp) -> list[Value]:
    """Emit the op on the cores and return its outputs.

    An op with a split input follows its type's rule; one with whole inputs runs on every core
    alike, or on core 0 if it is stateful. Raises NoRule if it must run on gathered inputs instead.
    """
    if any(isinstance(value, CoreHandles) for value in op.inputs):
        return variables.on_every_core(op)
    if any(isinstance(value, tf.Tensor) and value.dtype == tf.resource for value in op.inputs):
        raise NoRule("a resource with a single copy")
    on_lists = any(_dtype(value) == tf.variant for value in op.inputs)
    rule = LIST_RULES.get(op.type) if on_lists else RULES.get(op.type)
    if on_lists or any(map(is_split, op.inputs)):
        if rule is None:
            raise NoRule("no partitioning rule")
        try:
            return rule(op)
        except ValueError as error:  # an unknown rank or size that a rule needs
            raise NoRule(str(error)) from error
    if op.template.op.op_def.is_stateful or op.type in _ON_ONE_CORE:
        return op.on_one_core()
    return op.replicated()


def _dtype(value: Value) -> tf.DType:
    return tf.resource if isinstance(value, CoreHandles) else value.dtype


def _emission(values: Sequence[Value]) -> Emission:
    emitted = []
    for value in values:
        tensors = value.tiles if isinstance(value, Sharded) else (value,)
        emitted += [tensor.op for tensor in tensors if isinstance(tensor, tf.Tensor)]
    return emitted, list(values)


def _report_fallback(op: PartitionedOp, reason: str) -> None:
    split = [value for value in op.inputs if isinstance(value, Sharded) and is_split(value)]
    if not split or op.type in _WRITES:
        return
    sizes: list[int | None] = []
    for value in split:
        known = [size for size in value.shape if size is not None]
        is_known = len(known) == len(value.shape) and value.dtype != tf.variant
        sizes.append(math.prod(known) * value.dtype.size if is_known else None)
    group = op.group
    group.recorder.fallback(op.type, op.template.op.name, group.replica, reason, sizes)
