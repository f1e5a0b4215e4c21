"""Expansion: re-emits a traced TPU cluster once per replica, on the devices of its cores.

Every tensor of the cluster's graph has one value per replica (see `sharded.Value`). Every op is
visited once, in dependency order, and emitted for each replica. Ops that need more than a copy per
replica are in modules of their own: `collectives`, `control_flow`, `placement`, `partitioner`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import tensorflow as tf

from strategy_tpu import collectives, control_flow, private_tf
from strategy_tpu.cloning import Template, bare
from strategy_tpu.core_group import CoreGroup
from strategy_tpu.graph_order import emission_order
from strategy_tpu.partitioner import partition
from strategy_tpu.partitioner.lists import collect, is_list
from strategy_tpu.placement import Placement
from strategy_tpu.recorder import TrafficRecorder
from strategy_tpu.report import ExpansionReport
from strategy_tpu.sharded import CoreHandles, Sharded, Value

_MANUAL = frozenset(("XlaSpmdFullToShardShape", "XlaSpmdShardToFullShape"))
_MAPPED = "_xla_map_outside_compilation"
_METADATA = frozenset(("TPUReplicateMetadata", "TPUCompilationResult"))


class Expansion:
    """Emits the graph `cluster` into `outer` for all replicas of `extended`'s strategy."""

    def __init__(self, cluster: Any, outer: Any, extended: Any) -> None:
        self.cluster = cluster
        self.outer = outer
        self.devices = extended.core_devices
        self.num_replicas, self.num_cores = self.devices.shape
        self.report = ExpansionReport(tuple(map(tuple, self.devices.tolist())))
        self.recorder = TrafficRecorder(self.report)
        self.groups = [
            CoreGroup(replica, list(self.devices[replica]), self.recorder)
            for replica in range(self.num_replicas)
        ]
        self.placement = Placement(self.devices)
        self.active = list(range(self.num_replicas))
        """The replicas being emitted: all of them, or one inside its own loop."""
        self._values: dict[int, list[Any]] = {}
        self._emitted: dict[int, list[list[tf.Operation]]] = {}
        self._bodies: dict[str, Any] = {}
        self._function_types: dict[str, bool] = {}

    def run(self, outputs: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Emit all ops. Returns the values of the cluster's host outputs in the caller's graph."""
        for external, internal in self.cluster.captures:
            # An eager tensor is captured by the caller's graph, so that it has an op like all
            # others.
            is_graph = tf.is_symbolic_tensor(external)
            value = external if is_graph else self.outer.capture(external)
            self.set_value(internal, [value] * self.num_replicas)
        with bare():
            for op in emission_order(self.cluster, outputs):
                self.emit(op, self.cluster, in_cluster=False)
            return [self.dense(output, 0) for output in outputs]

    # -- values ---------------------------------------------------------------------------------

    def value(self, tensor: tf.Tensor, replica: int) -> Value:
        """The value of a traced tensor on a replica."""
        return self._values[id(tensor)][replica]

    def set_value(self, tensor: tf.Tensor, by_replica: list[Any]) -> None:
        self._values[id(tensor)] = by_replica

    def values_of(self, tensor: tf.Tensor) -> list[Any]:
        """The values of a traced tensor, by replica."""
        return self._values[id(tensor)]

    def is_known(self, tensor: tf.Tensor) -> bool:
        return id(tensor) in self._values

    def dense(self, tensor: tf.Tensor, replica: int, core: int = 0) -> tf.Tensor:
        """The whole value of a traced tensor on one core of a replica."""
        return self.whole(self.value(tensor, replica), replica, core)

    def whole(self, value: Value, replica: int, core: int = 0) -> tf.Tensor:
        """A value gathered to one core; for a variable's handles, the handle of that core."""
        if isinstance(value, Sharded):
            if is_list(value):
                return collect(value, core, self.groups[replica])
            return self.groups[replica].gather(value, core)
        return value.handles[core] if isinstance(value, CoreHandles) else value

    def has_partitioned(self, tensors: Sequence[tf.Tensor]) -> bool:
        """Whether any of the tensors represents several tensors on an active replica."""
        return self.num_cores > 1 and any(
            isinstance(self.value(tensor, replica), Sharded | CoreHandles)
            for tensor in tensors
            for replica in self.active
        )

    # -- control edges --------------------------------------------------------------------------

    def set_emitted(self, op: tf.Operation, by_replica: list[list[tf.Operation]]) -> None:
        """Set the ops that replace `op` as a control dependency."""
        self._emitted[id(op)] = by_replica

    def emitted(self, op: tf.Operation, replica: int) -> list[tf.Operation]:
        copies = self._emitted.get(id(op))
        return copies[replica] if copies else []

    def after(self, op: tf.Operation, replicas: Sequence[int]) -> Any:
        """Context in which new ops wait for the control inputs of `op`."""
        waits: list[tf.Operation] = []
        if op.control_inputs:
            graph = tf.compat.v1.get_default_graph()
            for need in op.control_inputs:
                for replica in replicas:
                    waits += [new for new in self.emitted(need, replica) if new.graph is graph]
        return tf.control_dependencies(waits) if waits else nullcontext()

    # -- emission -------------------------------------------------------------------------------

    def emit_body(self, body: Any) -> None:
        """Emit the ops of a function body, whose parameters have been bound."""
        for op in emission_order(body, body.outputs):
            self.emit(op, body, in_cluster=True)

    def emit(self, op: tf.Operation, graph: Any, in_cluster: bool) -> None:
        if op.type in _METADATA or (op.type == "Placeholder" and self.is_known(op.outputs[0])):
            return
        _refuse_unknown(op, self.num_cores)
        special = _SPECIAL.get(op.type)
        if special is not None and special(self, op, graph):
            return
        if self._is_function(op.type, graph):  # a legacy function is called by an op of its name
            control_flow.inline_function(self, op, graph, op.type)
            return
        if in_cluster or _is_replicated(op):
            self._emit_on_replicas(op, graph)
        else:
            self._emit_on_host(op, graph)

    def _emit_on_host(self, op: tf.Operation, graph: Any) -> None:
        """Emit an op outside the cluster once, on its original device."""
        if self.has_partitioned(op.inputs):  # an annotation on a variable's handles
            self.set_value(op.outputs[0], self.values_of(op.inputs[0]))
            return
        with self.after(op, self.active):
            new = Template(op, (graph, self.cluster, self.outer)).create(
                [self.dense(tensor, 0) for tensor in op.inputs], op.device, op.name
            )
        self.set_emitted(op, [[new]] * self.num_replicas)
        for old_output, new_output in zip(op.outputs, new.outputs, strict=True):
            self.set_value(old_output, [new_output] * self.num_replicas)

    def _emit_on_replicas(self, op: tf.Operation, graph: Any) -> None:
        template = Template(op, (graph, self.cluster, self.outer))
        core = self.placement.core_of(op, self) if self.num_cores > 1 else 0
        emitted: list[list[tf.Operation]] = [[] for _ in range(self.num_replicas)]
        outputs: list[list[Any]] = [[None] * self.num_replicas for _ in op.outputs]
        for replica in self.active:
            with self.after(op, [replica]):
                news, values = self._emit_on(template, replica, core)
            emitted[replica] = news
            for column, value in zip(outputs, values, strict=True):
                column[replica] = value
        self.set_emitted(op, emitted)
        for output, column in zip(op.outputs, outputs, strict=True):
            self.set_value(output, column)

    def _emit_on(
        self, template: Template, replica: int, core: int
    ) -> tuple[list[tf.Operation], list[Value]]:
        op, group = template.op, self.groups[replica]
        inputs = [self.value(tensor, replica) for tensor in op.inputs]
        if self.num_cores > 1:
            done = partition(template, inputs, group)
            if done is not None:
                return done
        device = self.placement.resource_device(inputs)
        dense = [self.whole(value, replica, core) for value in inputs]
        new = group.create(template, dense, core, device=device)
        return [new], list(new.outputs)

    def _is_function(self, name: str, graph: Any) -> bool:
        if name not in self._function_types:
            scopes = (graph, self.cluster, self.outer)
            self._function_types[name] = private_tf.find_function(name, scopes) is not None
        return self._function_types[name]

    def body(self, graph: Any, name: str) -> Any:
        """Graph of the function `name` that an op in `graph` refers to."""
        function = private_tf.find_function(name, (graph, self.cluster, self.outer))
        if function is None:
            raise KeyError(f"The traced cluster refers to an unknown function {name}.")
        # one graph per function, because values are stored by its tensors
        if name not in self._bodies:
            self._bodies[name] = private_tf.body_of(function)
        return self._bodies[name]


def _refuse_unknown(op: tf.Operation, num_cores: int) -> None:
    """Raise NotImplementedError for an op with a different meaning on each core of a replica."""
    if op.type in _MANUAL:
        raise NotImplementedError(
            f"The emulation has no manual partitioning, which {op.name} ({op.type}) asks for. Use "
            "experimental_split_to_logical_devices and let the partitioner split the ops."
        )
    if num_cores > 1 and _MAPPED in op.node_def.attr:
        raise NotImplementedError(
            f"The emulation cannot map {op.name} over the shards of a tensor "
            "(experimental_map_outside_compilation). Use tf.tpu.outside_compilation, which gets "
            "the whole tensor, or one core per replica."
        )


def _is_replicated(op: tf.Operation) -> bool:
    """Whether an op of the cluster's graph belongs to the cluster, not to its host."""
    try:
        op.get_attr("_tpu_replicate")
    except ValueError:
        return False
    return True


def _replicated_input(expansion: Expansion, op: tf.Operation, graph: Any) -> bool:
    del graph
    inputs = [expansion.value(tensor, 0) for tensor in op.inputs]
    if len(inputs) == 1:
        inputs *= expansion.num_replicas
    expansion.set_value(op.outputs[0], inputs)
    return True


def _replicated_output(expansion: Expansion, op: tf.Operation, graph: Any) -> bool:
    del graph
    for replica, output in enumerate(op.outputs):
        value = expansion.dense(op.inputs[0], replica)
        expansion.set_value(output, [value] * expansion.num_replicas)
    return True


def _partitioned_input(expansion: Expansion, op: tf.Operation, graph: Any) -> bool:
    """A variable of an SPMD program: one handle per logical core."""
    del graph
    handles = CoreHandles(tuple(expansion.dense(tensor, 0) for tensor in op.inputs))
    expansion.set_value(op.outputs[0], [handles] * expansion.num_replicas)
    return True


_Special = Callable[[Expansion, tf.Operation, Any], bool]
_SPECIAL: dict[str, _Special] = {
    "TPUReplicatedInput": _replicated_input,
    "TPUReplicatedOutput": _replicated_output,
    "TPUPartitionedInputV2": _partitioned_input,
    "TPUPartitionedInput": _partitioned_input,
    **collectives.HANDLERS,
    **control_flow.HANDLERS,
}
