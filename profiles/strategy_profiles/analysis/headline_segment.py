"""Which segment of a run with live changes its headline and its key numbers are of.

Pages, report, live view and list of runs all take it from here; each can show other segments, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from strategy_profiles.analysis.steps import step_times
from strategy_profiles.analysis.stuck import stuck_workers
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.columns import ints
from strategy_profiles.tables.store import Profile, once

_WHOLE = ("finished", "stopped")
"""Endings after which the last segment is not the one to look at whatever the others are."""
LEAST_LOSS = 0.1
"""Share of a segment's time that it loses against the fastest one like it, for it to be shown."""


def headline_segment(profile: Profile) -> SegmentOpened | None:
    """The segment that loses most time; of a recorded program, the one that takes most time; else
    the last one that recorded a step, or the last one.

    None if there is none. A run that goes on, failed, or stood still at its end, has its last one.
    """
    segments = profile.segments
    if len(segments) < 2:
        return segments[0] if segments else None
    with_steps = _with_steps(profile)
    last = (with_steps or segments)[-1]
    if profile.status.state not in _WHOLE or stuck_workers(profile):
        return last
    if not last.is_of_lab:  # its segments are parts of the program, and no tries
        return max(with_steps, key=lambda each: _took_ms(profile, each), default=last)
    return _slowed(profile, with_steps) or last


def num_alike(profile: Profile, segment: SegmentOpened) -> int:
    """Segments with a recorded step that have a segment's strategy, size and batch."""
    return sum(_kind(each) == _kind(segment) for each in _with_steps(profile))


def _with_steps(profile: Profile) -> list[SegmentOpened]:
    numbers = _numbers_with_steps(profile)
    return [segment for segment in profile.segments if segment.segment in numbers]


@once
def _numbers_with_steps(profile: Profile) -> frozenset[int]:
    return frozenset(np.unique(ints(profile.table("steps"), "segment")).tolist())


def _kind(segment: SegmentOpened) -> tuple[object, ...]:
    return (
        segment.strategy,
        segment.num_replicas,
        segment.num_workers,
        segment.global_batch_size,
    )


def _took_ms(profile: Profile, segment: SegmentOpened) -> float:
    """From the start of its first step to the end of its last one."""
    steps = step_times(profile, segment.segment)
    last_ms = float(np.nan_to_num(steps.wall_ms[-1]))
    return float(steps.start_ns[-1] - steps.start_ns[0]) / 1e6 + last_ms


def _slowed(profile: Profile, segments: Sequence[SegmentOpened]) -> SegmentOpened | None:
    """The segment that took longest beyond the fastest one of its strategy, size and batch.

    One of another size or batch is what the user chose, and no loss.
    """
    lost: dict[int, float] = {}
    alike: dict[tuple[object, ...], list[tuple[SegmentOpened, float, int]]] = defaultdict(list)
    for each in segments:
        steps = step_times(profile, each.segment)
        if steps.median_ms is not None:
            alike[_kind(each)].append((each, steps.median_ms, steps.count))
    for group in alike.values():
        best_ms = min(ms for _, ms, _ in group)
        for each, ms, count in group:
            if ms - best_ms >= LEAST_LOSS * ms:
                lost[each.segment] = (ms - best_ms) * count
    worst = max(lost, key=lambda number: lost[number], default=None)
    return next((each for each in segments if each.segment == worst), None)


def prefix_of(segment: SegmentOpened, num_segments: int) -> tuple[str, ...]:
    """`Segment 1: ` before what is said of it; nothing if the run has no other segment."""
    return (f"Segment {segment.segment}: ",) if num_segments > 1 else ()
