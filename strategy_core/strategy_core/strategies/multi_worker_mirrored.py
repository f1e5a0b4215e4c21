"""Mirrored over several processes or machines, all-reducing over the network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_profiles.spec.run_spec import RunSpec

TITLE = "MultiWorkerMirroredStrategy"
NEEDS = "two or more workers"
LINK = "https://www.tensorflow.org/api_docs/python/tf/distribute/MultiWorkerMirroredStrategy"
PLACE = 5
RUNS_IN = "several"
ALGORITHMS = ("collective-ring", "nccl")
KNOWN_AS = ("CollectiveAllReduce",)


def build(spec: RunSpec, _devices: Sequence[str], algorithm: Algorithm) -> Any:
    """Over the processes that `TF_CONFIG` names; waits for all of them."""
    communication = tf.distribute.experimental.CommunicationImplementation
    implementation = {"collective-ring": communication.RING, "nccl": communication.NCCL}
    options = tf.distribute.experimental.CommunicationOptions(
        bytes_per_pack=spec.bytes_per_pack,
        timeout_seconds=spec.cluster.collective_timeout_s,
        implementation=communication.AUTO
        if algorithm.is_tensorflows_choice
        else implementation[algorithm.name],
    )
    return tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)
