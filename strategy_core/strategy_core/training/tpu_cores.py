"""The cores of a strategy that has them: their devices, and features split over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.planning import strategy_catalog
from strategy_profiles.spec.run_spec import RunSpec

Split = Callable[[Any], Any]


def core_devices(strategy: tf.distribute.TPUStrategy) -> list[list[str]]:
    """Device names by replica and logical core."""
    emulated = getattr(strategy.extended, "core_devices", None)
    if emulated is not None:
        return [[str(device) for device in replica] for replica in emulated]
    return [[device] for device in strategy.extended.worker_devices]


def splitter(strategy: tf.distribute.Strategy, spec: RunSpec) -> Split:
    """Splits a step's features over the replica's cores, if the spec asks for it."""
    axis, cores = spec.tpu.split_axis, spec.tpu.cores_per_replica
    has_cores = strategy_catalog.row(spec.strategy).has_cores
    if not has_cores or axis is None or cores == 1:
        return lambda features: features

    def split(tensor: tf.Tensor) -> tf.Tensor:
        partitions = [1] * tensor.shape.rank
        if axis < tensor.shape.rank:
            partitions[axis] = cores
        return strategy.experimental_split_to_logical_devices(tensor, partitions)

    return lambda features: tf.nest.map_structure(split, features)
