"""The ends of epochs of Keras's `fit`, as the timeline shows them between the steps."""

from __future__ import annotations

from typing import Any

from strategy_profiles.analysis.epoch_ends import describe_end, recorded_ends
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.layout import Timeline, since_origin


def epoch_ends_of(profile: Profile, timeline: Timeline) -> list[dict[str, Any]]:
    """Return `start` and `end` in ns since the timeline's origin, and a `text`, in order of time.

    Ends before the timeline's first step or behind its last span are left out.
    """
    ends = []
    for segment in profile.segments:
        for end in recorded_ends(profile, segment.segment):
            start = since_origin(profile, timeline, end.step, end.start_ns)
            if 0 <= start < timeline.length_ns:
                ended = start + round(end.wall_ms * 1e6)
                ends.append({"start": start, "end": ended, "text": describe_end(end)})
    return ends
