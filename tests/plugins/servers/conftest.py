"""The fixtures of the page, of a launcher, and the virtual CPUs of the core's tests."""

from __future__ import annotations

from tests.app.conftest import _labs_options, _no_head_start, _no_keras_to_clear, _one_scan
from tests.strategy_core.conftest import logical_cpus

__all__ = ["_labs_options", "_no_head_start", "_no_keras_to_clear", "_one_scan", "logical_cpus"]
