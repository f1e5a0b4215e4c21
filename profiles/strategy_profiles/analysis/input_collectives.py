"""How many collectives of the host's own does taking a batch wait for?

In a cluster, an iterator of tf.distribute over a dataset that ends all-reduces, for each batch,
whether any worker has one left: called from Python, that is an eager op and a new thread pool.
These collectives are of no replica's graph, and lie between the begin and the end of the input.
"""

from __future__ import annotations

import numpy as np

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.capture import event_names
from strategy_profiles.tables.columns import ints, is_one_of, of_segment, of_steps, texts
from strategy_profiles.tables.store import Profile, once

_COLUMNS = ("segment", "worker", "step", "replica", "category", "name", "start_ns", "duration_ns")


@once
def input_collectives(profile: Profile, segment: int) -> float | None:
    """The mean number per typical captured step and worker; None without captured input."""
    spans = of_segment(profile.columns("spans", _COLUMNS), segment)
    spans = of_steps(spans, set(typical_captured_steps(profile, segment).tolist()))
    spans = spans.filter(is_one_of(spans, "category", ("collective", "input")))
    start, replica = ints(spans, "start_ns"), ints(spans, "replica")
    end = start + ints(spans, "duration_ns")
    named = np.array([name == event_names.INPUT for name in texts(spans, "name")], np.bool_)
    is_hosts = is_one_of(spans, "category", ("collective",)) & (replica < 0)
    inputs = np.flatnonzero(named)
    if not inputs.size:
        return None
    worker = ints(spans, "worker")
    within = [
        int(np.sum(is_hosts & (worker == worker[at]) & (start >= start[at]) & (end <= end[at])))
        for at in inputs.tolist()
    ]
    return sum(within) / len(within)
