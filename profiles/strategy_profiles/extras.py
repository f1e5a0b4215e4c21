"""The optional parts of the lab, and the packages that each needs.

An extra of `pyproject.toml` installs them: `pip install 'strategy-lab[mcp]'`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from strategy_profiles.errors import LabError


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part. `module` is a module that only its packages have."""

    name: str
    module: str
    gives: str
    """What works only with it."""

    @property
    def is_installed(self) -> bool:
        try:
            return find_spec(self.module) is not None
        except ModuleNotFoundError:  # the module's package is missing, too
            return False

    @property
    def advice(self) -> str:
        return f"Install it with: pip install 'strategy-lab[{self.name}]'"


EXTRAS: dict[str, Extra] = {
    item.name: item
    for item in (
        Extra("tensorflow", "tensorflow", "a run or a trace"),
        Extra("ui", "streamlit", "strategy-lab ui"),
        Extra("mcp", "mcp.server.mcpserver", "strategy-lab mcp"),
        Extra("mlflow", "mlflow.tracking", "export --format mlflow"),
        Extra("otlp", "opentelemetry.exporter.otlp.proto.http", "export --format otlp"),
        Extra("ray", "ray", "runs whose processes Ray places"),
        Extra("tensorboard", "tensorboard", "the lab's tab in TensorBoard"),
    )
}
"""The extras by name."""


def require(name: str) -> None:
    """Raise LabError with the command that installs the extra, if it is missing."""
    extra = EXTRAS[name]
    if not extra.is_installed:
        raise LabError(
            f"{extra.gives} needs the extra {name}, which is not installed", advice=extra.advice
        )
