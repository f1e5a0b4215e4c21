"""A replica on every TPU core or group of cores. Without a TPU, virtual devices emulate its
cores.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_profiles.spec.run_spec import RunSpec
from strategy_tpu import strategy_builder
from strategy_tpu.pod import ServedPod
from strategy_tpu.step_events import step_events

__all__ = ["build", "step_events"]

TITLE = "TPUStrategy"
NEEDS = "a TPU, or devices that emulate its cores"
LINK = "https://www.tensorflow.org/api_docs/python/tf/distribute/TPUStrategy"
PLACE = 7
RUNS_IN = "either"
HAS_COORDINATOR = True
HAS_CORES = True
ALGORITHMS = ("cross-replica-sum",)
NO_CHOICE = "TPU cores sum among themselves"
NO_XLA = "XLA compiles every program of a TPU, and emulated cores run its ops one by one"


def build(
    spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm
) -> tf.distribute.TPUStrategy:
    """The strategy of `spec`: on a TPU, or on emulated cores, each on one of the `devices`.

    `devices` are those of all hosts. The hosts of an emulated pod are those in `TF_CONFIG`. Raises
    SpecError if the devices do not fit the spec.
    """
    return strategy_builder.build(
        len(devices) // spec.tpu.cores_per_replica,
        spec.tpu.cores_per_replica,
        spmd=spec.tpu.spmd,
        topology_shape=spec.tpu.topology,
        pod=_pod(len(devices)) if spec.workers > 1 else None,
    )


def _pod(num_cores: int) -> ServedPod:
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    cluster = resolver.cluster_spec()
    per_host = num_cores // cluster.num_tasks("host")
    return ServedPod(cluster, "host", per_host, own_job=resolver.task_type)
