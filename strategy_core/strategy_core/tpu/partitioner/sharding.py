"""The program's annotations: `XlaSharding` ops, and the layouts that they request."""

from __future__ import annotations

import tensorflow as tf

from strategy_core.private_tf import tpu as private_tf
from strategy_core.tpu.cloning import Template
from strategy_core.tpu.core_group import CoreGroup
from strategy_core.tpu.sharded import CoreHandles, Sharded, Value, tiled


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
