"""Builds a strategy from the numbers that a user chooses: replicas, cores per replica, mesh,
mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from strategy_tpu import mesh
from strategy_tpu.resolver import TPUClusterResolver
from strategy_tpu.strategy import TPUStrategy
from strategy_tpu.system import DeviceAssignment, connect_to_cluster, initialize_tpu_system


def by_host(assignment: Any) -> Any:
    """The same replicas, numbered host by host, so that each host's input is for its own replicas.

    TensorFlow numbers replicas along a ring through the mesh. A batch that a host reads goes to the
    replicas in order of their number, even if they are on other hosts.
    """
    topology = assignment.topology
    cores = assignment.core_assignment  # [replica, logical core, axis]
    hosts = [topology.task_ordinal_at_coordinates(replica[0]) for replica in cores]
    return DeviceAssignment(topology, cores[np.argsort(hosts, kind="stable")])


def _initialized(resolver: Any) -> Any:
    """The resolver's topology. On emulated cores, initializing again loses no state."""
    if isinstance(resolver, TPUClusterResolver):
        return resolver.initialize(again=True)
    return initialize_tpu_system(resolver)


def build(
    num_replicas: int | None = None,
    cores_per_replica: int = 1,
    *,
    spmd: bool = False,
    topology_shape: Sequence[int] | None = None,
    device_kind: str | None = None,
    pod: Any = None,
    xla_check: bool | None = None,
    strict: bool | None = None,
) -> Any:
    """A TPUStrategy whose TPU system is initialized.

    Without `topology_shape` the mesh is the default one for the required number of cores. Without
    `num_replicas` the replicas fill the mesh. `xla_check` and `strict` are those of `TPUStrategy`.
    Raises `mesh.TPUSetupError` or TensorFlow's ValueError if devices, mesh and replicas do not fit
    together.
    """
    if topology_shape is None and num_replicas is not None and pod is None:
        topology_shape = mesh.default_shape(num_replicas * cores_per_replica)
    resolver = TPUClusterResolver(
        tpu="", topology_shape=topology_shape, device_kind=device_kind, pod=pod
    )
    connect_to_cluster(resolver)
    topology = _initialized(resolver)
    shape = topology.mesh_shape.tolist()
    fitting = topology.num_tasks * topology.num_tpus_per_task // cores_per_replica
    assignment = DeviceAssignment.build(
        topology,
        computation_shape=mesh.computation_shape(shape, cores_per_replica),
        num_replicas=fitting if num_replicas is None else num_replicas,
    )
    if pod is not None:
        assignment = by_host(assignment)
    return TPUStrategy(
        resolver,
        experimental_device_assignment=assignment,
        experimental_spmd_xla_partitioning=spmd,
        xla_check=xla_check,
        strict=strict,
    )
