"""What did the recording itself cost?

overhead = T / (T - cost): T is the wall time of the timed steps plus what the windows took
between steps (start, stop, conversion); cost is those, plus what captured steps took longer than
bare ones (difference of medians).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiles.analysis.steps import step_times
from profiles.sources import Record

if TYPE_CHECKING:
    from profiles.store import Profile

_BETWEEN = ("start_ms", "stop_ms", "convert_ms")


@dataclass(frozen=True, slots=True)
class CaptureCost:
    """The windows of a segment and their price."""

    segment: int
    num_windows: int
    num_steps: int
    between_ms: float
    overhead_ratio: float | None
    reason: str | None
    errors: tuple[str, ...]
    """Why windows gave no tables, where some did not."""


def capture_cost(profile: Profile, segment: int) -> CaptureCost:
    """The price of a segment's windows; the lowest worker's, as `steps` are."""
    windows = _windows(profile, segment)
    steps = step_times(profile, segment)
    captured = steps.captured[steps.num_warm_up :]
    between = sum(float(record[key]) for record in windows for key in _BETWEEN)
    ratio, reason = None, None
    if not windows:
        reason = "the segment has no capture window"
    elif not captured.any() or captured.all():
        which = "every" if captured.any() else "no"
        reason = f"{which} timed step was captured: nothing to compare with"
    else:
        bare = float(np.median(steps.timed_ms[~captured]))
        longer = max(0.0, float(np.median(steps.timed_ms[captured])) - bare) * captured.sum()
        total = float(steps.timed_ms.sum()) + between
        ratio = total / (total - between - longer)
    return CaptureCost(
        segment=segment,
        num_windows=len(windows),
        num_steps=int(steps.captured.sum()),
        between_ms=between,
        overhead_ratio=ratio,
        reason=reason,
        errors=tuple(str(record["error"]) for record in windows if record.get("error")),
    )


def _windows(profile: Profile, segment: int) -> list[Record]:
    """The window events of the lowest worker that has any, whole ones only."""
    for source in profile.sources:
        found = [
            record
            for record in source.of_kind("window")
            if record.get("segment") == segment
            and all(isinstance(record.get(key), int | float) for key in _BETWEEN)
        ]
        if found:
            return found
    return []
