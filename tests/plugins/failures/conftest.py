"""The programs need logical CPUs, as the tests of the kernel do."""

from __future__ import annotations

from tests.strategy_core.conftest import logical_cpus

__all__ = ["logical_cpus"]
