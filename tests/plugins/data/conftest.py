"""The virtual CPUs of the core's tests."""

from __future__ import annotations

from tests.strategy_core.conftest import logical_cpus

__all__ = ["logical_cpus"]
