"""TPU strategies for tests: so many replicas of so many cores, and values to feed them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from strategy_core import tpu
from strategy_core.tpu import mesh


def make(num_replicas: int = 8, num_cores: int = 1, spmd: bool = False) -> Any:
    """A strategy on as many emulated cores as that takes."""
    shape = mesh.default_shape(num_replicas * num_cores)
    resolver = tpu.TPUClusterResolver(tpu="", topology_shape=shape)
    tpu.connect_to_cluster(resolver)
    topology = tpu.initialize_tpu_system(resolver)
    assignment = tpu.DeviceAssignment.build(
        topology,
        computation_shape=mesh.computation_shape(shape, num_cores),
        num_replicas=num_replicas,
    )
    return tpu.TPUStrategy(
        resolver,
        experimental_device_assignment=assignment,
        experimental_spmd_xla_partitioning=spmd,
    )


def values(strategy: Any, by_replica: Any) -> Any:
    """One value per replica."""
    return strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(by_replica[context.replica_id_in_sync_group])
    )


def results(strategy: Any, value: Any) -> list[Any]:
    """The replicas' results as numpy."""
    return [np.asarray(each) for each in strategy.experimental_local_results(value)]


def copies(variable: Any) -> list[Any]:
    """Every copy of a variable, of all replicas and all cores, as numpy."""
    found = []
    for of_replica in variable.values:
        found += [v.numpy() for v in getattr(of_replica, "variables", [of_replica])]
    return found
