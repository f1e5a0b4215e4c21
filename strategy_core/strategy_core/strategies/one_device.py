"""One replica, with every variable and op on the device that you name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_profiles.spec.run_spec import RunSpec

TITLE = "OneDeviceStrategy"
NEEDS = "one device"
LINK = "https://www.tensorflow.org/api_docs/python/tf/distribute/OneDeviceStrategy"
PLACE = 2
HAS_ONE_REPLICA = True
ALGORITHMS = ("none",)
NO_CHOICE = "a single replica has nothing to reduce"


def build(_spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return tf.distribute.OneDeviceStrategy(devices[0])
