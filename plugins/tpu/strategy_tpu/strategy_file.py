"""A replica on every TPU core or group of cores. Without a TPU, virtual devices emulate its
cores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strategy_core.planning.collective_algorithms import Algorithm
from strategy_profiles.spec.run_spec import RunSpec
from strategy_tpu import from_spec

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


def build(spec: RunSpec, devices: Sequence[str], _algorithm: Algorithm) -> Any:
    return from_spec.build(spec, devices)
