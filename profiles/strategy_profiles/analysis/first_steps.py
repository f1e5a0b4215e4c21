"""How long the first step of a configuration took in an earlier run: tracing and compiling."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategy_profiles.guards import open_file
from strategy_profiles.run.event_decoder import LeftOut, decode_lines
from strategy_profiles.run.events import SegmentOpened, StepDone
from strategy_profiles.run.layout import worker_folder

FIELDS = ("strategy", "devices", "workers", "workload", "loop")
"""What the length of a first step depends on most."""
MOST_RUNS = 20
HEAD_BYTES = 1 << 18
"""Read of each event file: the first steps are at its beginning."""


def earlier_first_step_ms(run: Path, spec: Mapping[str, Any]) -> float | None:
    """The length of the first step of the newest other run of this configuration.

    Looks at the newest `MOST_RUNS` runs in the same folder; None if none of them is like it.
    """
    try:
        others = sorted(
            (path for path in run.parent.iterdir() if path != run and path.is_dir()),
            key=lambda path: path.stat().st_mtime_ns,
            reverse=True,
        )
    except OSError:
        return None
    times = (_first_step_ms(other, spec) for other in others[:MOST_RUNS])
    return next((ms for ms in times if ms is not None), None)


def _first_step_ms(run: Path, spec: Mapping[str, Any]) -> float | None:
    """The length of the first step of the run's first segment with this configuration."""
    path = worker_folder(run, 0).events
    try:
        with open_file(path) as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return None
    segment = None
    for event in decode_lines(head[: head.rfind(b"\n") + 1], LeftOut()):
        if isinstance(event, SegmentOpened):
            is_same = all(event.spec.get(name) == spec.get(name) for name in FIELDS)
            segment = event if is_same else None
        elif isinstance(event, StepDone) and segment is not None:
            return event.wall_ms if event.step == segment.first_step else None
    return None
