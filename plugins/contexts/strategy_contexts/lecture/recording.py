"""What scenes ask about: a program whose contexts are recorded, or a run.

Each comes with the lab, and can be recorded on this machine: live.
"""

from __future__ import annotations

import os
import tempfile
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from strategy_contexts import course, shipped
from strategy_core.processes import scratch
from strategy_profiles.tables.store import Profile, load

FOLDER = Path(__file__).parent / "recordings"
Trace = Mapping[str, Any]
"""A recording of contexts, as the viewer takes it."""


@dataclass(frozen=True, slots=True)
class Program:
    """A demonstration of the Contexts page, under its default strategy."""

    name: str

    @property
    def source(self) -> str:
        return course.demonstration(self.name).source

    def recorded(self) -> Trace:
        """The recording that comes with the lab."""
        trace = shipped.shipped(self.source, shipped.STRATEGY, shipped.DEVICES)
        assert trace is not None, f"the lab has no recording of {self.name}"
        return trace


@dataclass(frozen=True, slots=True)
class Run:
    """A run. `spec` is what differs from the defaults; scenes may share a recording."""

    name: str
    spec: Mapping[str, Any]

    @property
    def file(self) -> Path:
        return FOLDER / f"{self.name}.zip"

    def recorded(self) -> Profile:
        """The recording that comes with the lab."""
        with _UNPACKING:
            folder = _unpacked().folder
        return load(folder / self.name)


class _Unpacked:
    """The recorded runs, unpacked in a folder that goes with this object."""

    def __init__(self) -> None:
        self._held = tempfile.TemporaryDirectory(prefix=scratch.UNPACKED_PREFIX)
        self.folder = Path(self._held.name)
        (self.folder / scratch.OWNER).touch()
        self._lock = os.fdopen(scratch.hold(self.folder))  # it is closed with this object
        for file in sorted(FOLDER.glob("*.zip")):
            with zipfile.ZipFile(file) as packed:
                packed.extractall(self.folder / file.stem)


_unpacked = cache(_Unpacked)
_UNPACKING = threading.Lock()
"""`cache` calls its function twice where two threads ask at once."""


def remove_unpacked() -> None:
    """Remove the folder of the unpacked runs. A process that ends by a signal has to call it."""
    with _UNPACKING:
        _unpacked.cache_clear()


_FAST = {"capture": {"overhead_budget": 0.2, "keep_xplane": False}, "steps": 40}
STRAGGLER = Run(
    "straggler",
    {"strategy": "mirrored", "devices": "cpu:4", "inject": [{"replica": 2, "ms": 100}], **_FAST},
)
MIRRORED = Run("mirrored", {"strategy": "mirrored", "devices": "cpu:4", **_FAST})
CENTRAL = Run("central-storage", {"strategy": "central-storage", "devices": "cpu:4", **_FAST})
SLOW_INPUT = Run(
    "slow-input",
    {
        "strategy": "mirrored",
        "devices": "cpu:4",
        "workload": "synthetic",
        "workload_options": {"parameters": 20_000, "flops_per_example": 120_000, "read_ms": 100},
        "global_batch_size": 64,
        **_FAST,
    },
)
RUNS = (STRAGGLER, MIRRORED, CENTRAL, SLOW_INPUT)
