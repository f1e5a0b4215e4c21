"""How long does no replica run anything: the time in which all replicas of a step are idle at once?

all idle = step - |union of the spans of its replicas|, and at most what its least idle replica is.

Replicas whose ops run one after the other are idle by turns: the mean of their idle times is far
more than this.
"""

from __future__ import annotations

import numpy as np

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.capture.exposed import COMMUNICATION, SPAN_COLUMNS
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.tables.columns import floats, ints, is_one_of, mean, of_segment
from strategy_profiles.tables.store import Profile, once

_INPUT = ("input",)
_AT_WORK = (*COMMUNICATION, *_INPUT, "compute", "delay")
"""Categories of spans that are a phase other than idle."""


@once
def all_idle_ms(profile: Profile, segment: int) -> float | None:
    """The mean over the typical captured steps; None if no replica was captured in them.

    Clocks of workers need not agree, so of several workers the one that is idle least counts.
    """
    rows = of_segment(profile.table("replica_steps"), segment)
    captured = np.isin(ints(rows, "step"), typical_captured_steps(profile, segment))
    rows = rows.filter(captured & ~is_one_of(rows, "source", ("marks",)))
    if not rows.num_rows:
        return None
    step, worker, start = (ints(rows, name) for name in ("step", "worker", "start_ns"))
    wall_ms, idle_ms = floats(rows, "wall_ms"), floats(rows, "idle_ms")
    if len(step) == len(np.unique(step)):
        return mean(idle_ms)  # one replica
    columns = ("segment", "worker", *SPAN_COLUMNS)
    spans = of_segment(profile.columns("spans", columns), segment)
    # While the host asks for a batch, every replica is in its input phase.
    counts = (ints(spans, "replica") >= 0) & is_one_of(spans, "category", _AT_WORK)
    spans = spans.filter(counts | is_one_of(spans, "category", _INPUT))
    for number in np.unique(worker).tolist():
        of_worker = spans.filter(ints(spans, "worker") == number)
        began = ints(of_worker, "start_ns")
        at_work = Intervals.union((began, began + ints(of_worker, "duration_ns")))
        own = worker == number
        ends = start[own] + np.rint(wall_ms[own] * 1e6).astype(np.int64)
        nothing_ms = wall_ms[own] - at_work.length_within(start[own], ends) / 1e6
        idle_ms[own] = np.minimum(idle_ms[own], np.maximum(nothing_ms, 0.0))
    least = [float(np.min(idle_ms[step == number])) for number in np.unique(step).tolist()]
    return mean(np.array(least))
