"""Do replicas of a process compute at the same time, or one after the other?

several = time in which two replicas or more compute, over the time in which any does.
"""

from __future__ import annotations

import numpy as np

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.tables.columns import Ints, ints, is_one_of, of_segment, of_steps
from strategy_profiles.tables.store import Profile, once

_COLUMNS = ("segment", "worker", "step", "replica", "category", "start_ns", "duration_ns")


@once
def side_by_side(profile: Profile, segment: int) -> float | None:
    """The share over the typical captured steps; None if no process has two captured replicas."""
    spans = of_segment(profile.columns("spans", _COLUMNS), segment)
    spans = of_steps(spans, set(typical_captured_steps(profile, segment).tolist()))
    spans = spans.filter(is_one_of(spans, "category", ("compute",)) & (ints(spans, "replica") >= 0))
    worker, replica = ints(spans, "worker"), ints(spans, "replica")
    start = ints(spans, "start_ns")
    end = start + ints(spans, "duration_ns")
    any_ns = several_ns = 0
    for process in np.unique(worker).tolist():
        each = [
            Intervals.union((start[own], end[own]))
            for number in np.unique(replica[worker == process]).tolist()
            if (own := (worker == process) & (replica == number)).any()
        ]
        if len(each) > 1:
            any_, several = _covered_ns(each)
            any_ns, several_ns = any_ns + any_, several_ns + several
    return several_ns / any_ns if any_ns else None


def _covered_ns(sets: list[Intervals]) -> tuple[int, int]:
    """Return the time that is in a set, and the time that is in two or more."""
    starts = np.concatenate([each.starts for each in sets])
    ends = np.concatenate([each.ends for each in sets])
    times: Ints = np.concatenate((starts, ends))
    order = np.argsort(times, kind="stable")
    changes = np.repeat(np.array([1, -1]), len(starts))[order]
    lengths, depth = np.diff(times[order]), np.cumsum(changes)[:-1]
    return int(lengths[depth >= 1].sum()), int(lengths[depth >= 2].sum())
