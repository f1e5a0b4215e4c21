"""The strategies, one row each: what it is, what it needs, why it cannot run here if it cannot.

Free of TensorFlow: the page and the command line list it. `strategies.py` has a builder per row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from strategy_core.inventory import Inventory

_API = "https://www.tensorflow.org/api_docs/python/tf/distribute/"
_GUIDE = "https://www.tensorflow.org/guide/distributed_training"

Unavailable = Callable[[Inventory], str | None]
"""The devices that are there -> why the strategy cannot run on them, or None where it can."""


@dataclass(frozen=True, slots=True)
class StrategyRow:
    """A strategy as the page shows it."""

    name: str
    title: str
    explanation: str
    needs: str
    link: str
    unavailable: Unavailable


@dataclass(frozen=True, slots=True)
class Offer:
    """A row, and whether it can be had here: `reason` says why not."""

    row: StrategyRow
    reason: str | None

    @property
    def available(self) -> bool:
        return self.reason is None


def offers(inventory: Inventory) -> list[Offer]:
    """Every strategy of the catalog, judged by the devices that are there."""
    return [Offer(row, row.unavailable(inventory)) for row in STRATEGIES]


def row(name: str) -> StrategyRow:
    """The row of that name; raises KeyError."""
    return next(row for row in STRATEGIES if row.name == name)


def _anywhere(_inventory: Inventory) -> str | None:
    return None


STRATEGIES: tuple[StrategyRow, ...] = (
    StrategyRow(
        name="default",
        title="Default strategy",
        explanation="No distribution: one replica, placed by TensorFlow. The baseline.",
        needs="any device",
        link=f"{_GUIDE}#default_strategy",
        unavailable=_anywhere,
    ),
    StrategyRow(
        name="one-device",
        title="OneDeviceStrategy",
        explanation="One replica, with every variable and op on the device that you name.",
        needs="one device",
        link=f"{_API}OneDeviceStrategy",
        unavailable=_anywhere,
    ),
    StrategyRow(
        name="mirrored",
        title="MirroredStrategy",
        explanation="A copy of the model on every device; gradients are all-reduced in each step.",
        needs="one or more devices of one kind",
        link=f"{_API}MirroredStrategy",
        unavailable=_anywhere,
    ),
    StrategyRow(
        name="central-storage",
        title="CentralStorageStrategy",
        explanation="One copy of the variables on the CPU; every device reads it and sends "
        "its gradients to it.",
        needs="one or more devices of one kind",
        link=f"{_API}experimental/CentralStorageStrategy",
        unavailable=_anywhere,
    ),
    StrategyRow(
        name="multi-worker-mirrored",
        title="MultiWorkerMirroredStrategy",
        explanation="Mirrored over several processes or machines, all-reducing over the network.",
        needs="two or more workers",
        link=f"{_API}MultiWorkerMirroredStrategy",
        unavailable=_anywhere,
    ),
    StrategyRow(
        name="parameter-server",
        title="ParameterServerStrategy",
        explanation="Workers train asynchronously on variables that live on parameter servers.",
        needs="a coordinator, workers and parameter servers",
        link=f"{_API}ParameterServerStrategy",
        unavailable=_anywhere,
    ),
    StrategyRow(
        name="tpu",
        title="TPUStrategy",
        explanation="A replica on every TPU core or group of cores. Without a TPU, virtual devices "
        "stand for its cores.",
        needs="a TPU, or devices that stand for its cores",
        link=f"{_API}TPUStrategy",
        unavailable=_anywhere,
    ),
)
