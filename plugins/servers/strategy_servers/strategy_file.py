"""Workers train asynchronously on variables that live on parameter servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_core.training.workload import Workload
from strategy_profiles.spec.run_spec import RunSpec
from strategy_servers.coordinator import Closures, ServedLoop
from strategy_servers.sharded_weights import StepVariables

__all__ = ["build", "closures", "own_loop"]

TITLE = "ParameterServerStrategy"
NEEDS = "a coordinator, workers and parameter servers"
LINK = "https://www.tensorflow.org/api_docs/python/tf/distribute/ParameterServerStrategy"
PLACE = 6
RUNS_IN = "several"
HAS_COORDINATOR = True
HAS_SERVERS = True
HAS_CENTRAL_COPY = True
ALGORITHMS = ("none",)
NO_CHOICE = "workers update the servers' variables"
NO_XLA = (
    "the lab does not compile a worker's step, which pulls and pushes variables of other processes"
)


def build(_spec: RunSpec, _devices: Sequence[str], _algorithm: Algorithm) -> Any:
    """Over the servers that `TF_CONFIG` names; waits for all of them. Variables go to the
    parameter servers in turn, an optimizer's to where its weight is."""
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return tf.distribute.ParameterServerStrategy(resolver)


own_loop = ServedLoop()


def closures(
    spec: RunSpec, work: Workload, strategy: Any, model: Any, optimizer: Any, dataset: Any
) -> Closures:
    """What the loop schedules, for a program that has a loop of its own."""
    held = StepVariables.whole(model, optimizer)
    return Closures(spec, work, strategy, model, held, dataset)
