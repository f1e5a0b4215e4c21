"""TPUStrategy from a RunSpec, on a real TPU or on emulated cores, and where its cores sit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from profiles.spec import RunSpec
from strategy_core import tpu
from strategy_core.tpu import mesh

Split = Callable[[Any], Any]


def build(spec: RunSpec, num_cores: int) -> tf.distribute.TPUStrategy:
    """The strategy of `spec` on `num_cores` cores; raises SpecError where they do not fit."""
    resolver = tpu.TPUClusterResolver(
        tpu="", topology_shape=spec.tpu.topology or mesh.default_shape(num_cores)
    )
    tpu.connect_to_cluster(resolver)
    topology = tpu.initialize_tpu_system(resolver)
    cores = spec.tpu.cores_per_replica
    assignment = tpu.DeviceAssignment.build(
        topology,
        computation_shape=list(mesh.computation_shape(topology.mesh_shape, cores)),
        num_replicas=num_cores // cores,
    )
    return tpu.TPUStrategy(
        resolver,
        experimental_device_assignment=assignment,
        experimental_spmd_xla_partitioning=spec.tpu.spmd,
    )


def core_devices(strategy: tf.distribute.Strategy) -> list[list[str]] | None:
    """Device names by replica and logical core; None where a replica is one device."""
    if not isinstance(strategy, tf.distribute.TPUStrategy):
        return None
    emulated = getattr(strategy.extended, "core_devices", None)
    if emulated is not None:
        return [[str(device) for device in replica] for replica in emulated]
    return [[device] for device in strategy.extended.worker_devices]


def splitter(strategy: tf.distribute.Strategy, spec: RunSpec) -> Split:
    """What a step does to its features: split over the replica's cores, where that was asked."""
    axis, cores = spec.tpu.split_axis, spec.tpu.cores_per_replica
    if spec.strategy != "tpu" or axis is None or cores == 1:
        return lambda features: features

    def split(tensor: tf.Tensor) -> tf.Tensor:
        partitions = [1] * tensor.shape.rank
        if axis < tensor.shape.rank:
            partitions[axis] = cores
        return strategy.experimental_split_to_logical_devices(tensor, partitions)

    return lambda features: tf.nest.map_structure(split, features)
