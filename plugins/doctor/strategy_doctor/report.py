"""All checks in the order in which they are read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from strategy_doctor.check import Check
from strategy_doctor.limits_check import limit_checks
from strategy_doctor.package_check import (
    addition_checks,
    extra_checks,
    package_check,
    python_check,
)
from strategy_doctor.system_check import (
    folder_check,
    network_checks,
    port_check,
    ptrace_check,
)
from strategy_doctor.tensorflow_check import tensorflow_checks


def examine(runs: Path) -> Iterator[Check]:
    """Yield each check as it is done; TensorFlow's takes seconds."""
    yield python_check()
    yield package_check()
    yield from tensorflow_checks()
    yield from limit_checks()
    yield folder_check(runs)
    yield port_check()
    yield from network_checks()
    yield ptrace_check()
    yield from extra_checks()
    yield from addition_checks()
