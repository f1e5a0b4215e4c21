"""TPU strategies for tests: so many replicas of so many cores, and values to feed them."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from strategy_core import tpu


def make_strategy(num_replicas: int = 8, num_cores: int = 1, spmd: bool = False) -> Any:
    """A strategy on as many emulated cores as that takes."""
    return tpu.build(num_replicas, num_cores, spmd=spmd)


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
    values = []
    for of_replica in variable.values:
        values += [v.numpy() for v in getattr(of_replica, "variables", [of_replica])]
    return values
