"""The logical core of each op in a program that assigns cores itself (MPMD).

As TensorFlow documents: the default is core 0. An op whose output is annotated with
`experimental_assign_to_logical_device` runs on that core, and so do the operations on such a
tensor, if their operands agree. Ops inside `experimental_logical_device(k)` run on core k. An op on
a resource runs on the resource's device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.sharded import Value

_CORE = "TPU_REPLICATED_CORE:"


class Placement:
    """The cores of the ops of one cluster, which are the same on every replica."""

    def __init__(self, devices: npt.NDArray[Any]) -> None:
        self._devices = devices
        self._home: dict[int, int] = {}
        self._resource_devices: dict[int, str | None] = {}

    def core_of(self, op: tf.Operation, expansion: Any) -> int:
        """Logical core of `op`. Its outputs pass the assignment on to the ops that read them."""
        core = self._assigned_core(op)
        if core is None:
            homes = {self._home[id(t)] for t in op.inputs if id(t) in self._home}
            core = homes.pop() if len(homes) == 1 else None
        if core is not None:
            self.set_home(op.outputs, core)
            return core
        return self._core_of_resource(op, expansion)

    def home(self, tensor: tf.Tensor) -> int:
        """The core that a traced tensor is assigned to; 0 by default."""
        return self._home.get(id(tensor), 0)

    def set_home(self, tensors: Sequence[tf.Tensor], core: int) -> None:
        for tensor in tensors:
            self._home[id(tensor)] = core

    def pass_home(self, source: tf.Tensor, target: tf.Tensor) -> None:
        """Keep a tensor's core when it is passed into or out of a function."""
        if id(source) in self._home:
            self._home[id(target)] = self._home[id(source)]
        else:
            self._home.pop(id(target), None)

    def resource_device(self, inputs: Sequence[Value]) -> str | None:
        """Device of the resource among the operands: None without a resource, "" if unknown."""
        for value in inputs:
            if isinstance(value, tf.Tensor) and value.dtype == tf.resource:
                if id(value) not in self._resource_devices:
                    self._resource_devices[id(value)] = _device_of_resource(value)
                return self._resource_devices[id(value)] or ""
        return None

    def _assigned_core(self, op: tf.Operation) -> int | None:
        if _CORE in op.device:
            return int(op.device.rsplit(_CORE, 1)[1])
        if op.type == "XlaSharding":
            return assigned_core(op)
        readers = {assigned_core(c) for output in op.outputs for c in output.consumers()}
        readers.discard(None)
        return readers.pop() if len(readers) == 1 else None

    def _core_of_resource(self, op: tf.Operation, expansion: Any) -> int:
        if not any(tensor.dtype == tf.resource for tensor in op.inputs):
            return 0
        replica = expansion.active[0]
        values = [expansion.value(tensor, replica) for tensor in op.inputs]
        cores = list(self._devices[replica])
        device = self.resource_device(values)
        return cores.index(device) if device in cores else 0


def assigned_core(op: tf.Operation) -> int | None:
    """k if `op` is the annotation `assign to logical core k`, else None."""
    if op.type != "XlaSharding":
        return None
    sharding = private_tf.OpSharding()
    sharding.ParseFromString(op.get_attr("sharding"))
    if sharding.type != private_tf.OpSharding.MAXIMAL:
        return None
    return int(sharding.tile_assignment_devices[0])


def _device_of_resource(handle: tf.Tensor) -> str | None:
    """The device of a captured handle, found by following it out of the capturing function
    graphs."""
    while not hasattr(handle, "numpy"):
        captured = getattr(handle.graph, "captures", ())
        external = next((outer for outer, inner in captured if inner is handle), None)
        if external is None:
            return handle.device or None
        handle = external
    return str(handle.device)
