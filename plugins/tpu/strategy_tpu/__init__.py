"""TPU programs on any machine: TensorFlow's TPU API on virtual CPU devices or logical GPUs.

    from strategy_core import tpu
    tpu.configure_virtual_cores(8)
    resolver = tpu.TPUClusterResolver(tpu="")
    tpu.connect_to_cluster(resolver)
    topology = tpu.initialize_tpu_system(resolver)
    strategy = tpu.TPUStrategy(resolver)

The names are loaded on first use, so that `mesh`, which draws topologies, can be imported by code
that must not import TensorFlow.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "configure_virtual_cores": "cores",
    "TPUClusterResolver": "resolver",
    "connect_to_cluster": "system",
    "initialize_tpu_system": "system",
    "shutdown_tpu_system": "system",
    "Topology": "system",
    "DeviceAssignment": "system",
    "TPUStrategy": "strategy",
    "TPUProgramWarning": "warn",
    "ExpansionReport": "report",
    "Pod": "pod",
    "build": "strategy_builder",
    "collective_rows": "rows",
    "transfer_rows": "rows",
}
_MODULES = {"runner": "strategy_tpu.runner", "mesh": "strategy_tpu.mesh"}

__all__ = [*_HOME, *_MODULES]  # noqa: PLE0604 - names live in _HOME


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOME:
        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
