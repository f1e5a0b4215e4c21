"""Which segment of a run with live changes its headline and its key numbers are of.

Pages, report, live view and list of runs all take it from here; each can show other segments, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from strategy_profiles.tables.columns import ints

if TYPE_CHECKING:
    from strategy_profiles.run.events import SegmentOpened
    from strategy_profiles.tables.store import Profile


def headline_segment(profile: Profile) -> SegmentOpened | None:
    """The last segment that recorded a step; the last one if none did, None if there is none."""
    segments = profile.segments
    if len(segments) < 2:
        return segments[0] if segments else None
    with_steps = set(np.unique(ints(profile.table("steps"), "segment")).tolist())
    told = [segment for segment in segments if segment.segment in with_steps]
    return told[-1] if told else segments[-1]


def prefix_of(segment: SegmentOpened, num_segments: int) -> tuple[str, ...]:
    """`Segment 1: ` before what is said of it; nothing if the run has no other segment."""
    return (f"Segment {segment.segment}: ",) if num_segments > 1 else ()
