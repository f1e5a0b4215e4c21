"""What did the recording itself cost?

overhead = T / (T - cost): T is the wall time of the timed steps plus what the windows took beside
them (start, stop, conversion); cost is those, plus what captured steps took longer than bare ones
(difference of medians). A conversion in a helper process counts in full: it takes a core meanwhile.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.tables.store import Profile

FEWEST_BARE = 5
"""Steps that were not captured, at least, for their median to say what captured ones cost."""


class CaptureCost(Struct, frozen=True):
    """The windows of a segment and their price."""

    segment: int
    num_windows: int
    num_steps: int
    between_ms: float
    in_program_ms: float
    """Of that, what passed in the program's thread: starting and stopping the profiler."""
    cost_ms: float | None
    """That, and what captured steps took longer than others."""
    overhead_ratio: float | None
    reason: str | None
    errors: tuple[str, ...]
    """Why windows gave no tables, where some did not."""


def capture_cost(profile: Profile, segment: int) -> CaptureCost:
    """The price of a segment's windows; the lowest worker's, as `steps` are."""
    windows = _windows(profile, segment)
    steps = step_times(profile, segment)
    captured, walls_ms = steps.captured[steps.settled], steps.wall_ms[steps.settled]
    between = sum(window.start_ms + window.stop_ms + window.convert_ms for window in windows)
    ratio, cost_ms, reason = None, None, None
    if not windows and captured.any():
        reason = "the run ended before its capture was reported"
    elif not windows:
        reason = "the segment has no capture window"
    elif not captured.any():
        reason = "no timed step was captured: nothing to compare with"
    elif captured.all():
        reason = "every timed step was captured: nothing to compare with"
    elif (~captured).sum() < FEWEST_BARE:
        reason = f"fewer than {FEWEST_BARE} timed steps were not captured: nothing to compare with"
    else:
        bare = float(np.median(walls_ms[~captured]))
        longer = max(0.0, float(np.median(walls_ms[captured])) - bare) * captured.sum()
        cost_ms = between + longer
        total = float(walls_ms.sum()) + between
        ratio = total / (total - cost_ms)
    return CaptureCost(
        segment=segment,
        num_windows=len(windows),
        num_steps=int(steps.captured.sum()),
        between_ms=between,
        in_program_ms=sum(window.start_ms + window.stop_ms for window in windows),
        cost_ms=cost_ms,
        overhead_ratio=ratio,
        reason=reason,
        errors=tuple(window.error for window in windows if window.error),
    )


def _windows(profile: Profile, segment: int) -> list[WindowCaptured]:
    """The windows of the lowest worker that has any."""
    for source in profile.sources:
        windows = source.of_kind(WindowCaptured)
        own = [window for window in windows if window.segment == segment]
        if own:
            return own
    return []
