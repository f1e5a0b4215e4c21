"""One copy of the variables on the CPU; every device reads it and sends its gradients to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_profiles.spec.run_spec import RunSpec

TITLE = "CentralStorageStrategy"
NEEDS = "one or more devices of one kind"
LINK = (
    "https://www.tensorflow.org/api_docs/python/tf/distribute/experimental/CentralStorageStrategy"
)
PLACE = 4
HAS_CENTRAL_COPY = True
ALGORITHMS = ("reduction-to-one-device",)
NO_CHOICE = "gradients go to the one copy of the variables"
NO_XLA = (
    "a layer that updates a variable in the forward pass (BatchNormalization, Dropout) has to join "
    "the replicas there, which a compiled function may not do"
)


def build(_spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tf.distribute.experimental.CentralStorageStrategy(list(devices), "CPU:0")
