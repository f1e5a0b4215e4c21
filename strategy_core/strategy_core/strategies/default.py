"""No distribution: one replica, placed by TensorFlow. The baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_profiles.spec.run_spec import RunSpec

TITLE = "Default strategy"
NEEDS = "any device"
LINK = "https://www.tensorflow.org/guide/distributed_training#default_strategy"
PLACE = 1
TAKES_FIRST_DEVICE = True
HAS_ONE_REPLICA = True
ALGORITHMS = ("none",)
KNOWN_AS = ("DefaultDistribution",)
NO_CHOICE = "a single replica has nothing to reduce"


def build(_spec: RunSpec, _devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tf.distribute.get_strategy()
