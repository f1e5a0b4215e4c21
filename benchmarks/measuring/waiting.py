"""What the benchmarks of people's waiting share: runs followed to an event, and printed seconds."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_figure, record_ratio
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_profiles.run.tail import Tail

Fields = dict[str, Any]
"""Of an event, with its kind."""
Is = Callable[[Fields], bool]
_TIMEOUT_S = 120.0


def wait_for(handle: RunHandle, is_it: Is) -> Fields:
    """The first event of a run that is the one waited for; raises RuntimeError without one."""
    tail, deadline = Tail(handle.folder), time.monotonic() + _TIMEOUT_S
    while time.monotonic() < deadline:
        is_over = handle.is_over
        for record in tail.read():
            fields = record.to_json()
            if is_it(fields):
                return fields
        if is_over:
            raise RuntimeError(f"the run ended before: {handle.message}")
        time.sleep(0.005)
    raise RuntimeError(f"nothing came within {_TIMEOUT_S:.0f} s")


def is_kind(kind: str, **fields: Any) -> Is:
    """Whether an event is of a kind and has these fields."""
    return lambda record: (
        record["kind"] == kind and all(record.get(name) == value for name, value in fields.items())
    )


def print_seconds(what: str, seconds: Sequence[float], limit_s: float | None = None) -> None:
    """Print `what  median s (least to most)` and a limit; record it as a figure."""
    spread = f"({min(seconds):.2f} to {max(seconds):.2f})"
    limit = "" if limit_s is None else f", at most {limit_s:g} s allowed"
    print(f"{what:44} {statistics.median(seconds):6.2f} s {spread}{limit}", flush=True)
    record_figure(what, seconds, "s")


def compare_starts(
    what: str,
    theirs_s: Callable[[], float],
    ours_s: Callable[[Launcher, Path], float],
    turns: int,
) -> None:
    """Print how long TensorFlow alone and the lab take to start a cluster, in turns."""
    ours, theirs = [], []
    with tempfile.TemporaryDirectory() as folder, Launcher() as launcher:
        for turn in range(turns):
            theirs.append(theirs_s())
            ours.append(ours_s(launcher, Path(folder) / str(turn)))
    print_seconds(f"{what}, TensorFlow", theirs)
    print_seconds(f"{what}, the lab", ours)
    ratio = median_ratio(ours, theirs)
    print(f"start {ratio}, at most 1.3x allowed", flush=True)
    record_ratio(f"{what}, start", ratio, turns)
