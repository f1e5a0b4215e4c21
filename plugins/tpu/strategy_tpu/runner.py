"""TF-GNN's `runner.TPUStrategy`: a TPUStrategy from the name of a TPU, in one call."""

from __future__ import annotations

from typing import Any

from strategy_tpu.resolver import TPUClusterResolver
from strategy_tpu.strategy import TPUStrategy as _TPUStrategy
from strategy_tpu.system import connect_to_cluster, initialize_tpu_system


class TPUStrategy(_TPUStrategy):
    """A `TPUStrategy` convenience wrapper: resolves, connects and initializes `tpu` first."""

    def __new__(cls, tpu: str = "") -> Any:
        return super().__new__(cls, _connected(tpu))

    def __init__(self, tpu: str = "") -> None:
        super().__init__(_connected(tpu))


def _connected(tpu: str) -> Any:
    resolver = TPUClusterResolver(tpu)
    connect_to_cluster(resolver)
    initialize_tpu_system(resolver)
    return resolver
