"""Split each replica's step into compute, wait, transfer, input and idle, as far as events tell.

Every nanosecond belongs to the first of these that applies: an op runs on the replica's device
(compute), a copy or a collective whose last rank has started moves tensors (transfer), a
collective waits for its last rank (wait), the host asks for a batch (input), none of these (idle).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_imports.collectives import Collectives
from strategy_imports.recording import Ints
from strategy_imports.spans import COMPUTE, INPUT, TRANSFER, WAIT, Spans
from strategy_imports.steps import Windows
from strategy_profiles.capture.intervals import Intervals


@dataclass(frozen=True, slots=True)
class SplitSteps:
    """The steps of one replica; lengths in ns that add up to the wall time."""

    replica: int
    windows: Windows
    compute_ns: Ints
    transfer_ns: Ints
    wait_ns: Ints
    input_ns: Ints
    idle_ns: Ints


def host_input(spans: Spans) -> Intervals:
    """Return the times at which the host asks for a batch."""
    at = (spans.category == INPUT) & (spans.device < 0) & (spans.replica < 0)
    return Intervals.union((spans.start_ns[at], spans.end_ns[at]))


def split_steps(
    spans: Spans, collectives: Collectives, replica: int, windows: Windows, waiting: Intervals
) -> SplitSteps:
    """Split the steps of one replica; `waiting` are the times of `host_input`."""
    own = spans.replica == replica
    at = np.flatnonzero(own[collectives.span]) if len(collectives) else collectives.span
    rows = spans.take(collectives.span[at])
    moving = np.clip(collectives.all_started_ns[at], rows.start_ns, rows.end_ns)
    phases = (
        _union(spans, own, COMPUTE),
        _union(spans, own, TRANSFER) | Intervals.union((moving, rows.end_ns)),
        _union(spans, own, WAIT) | Intervals.union((rows.start_ns, moving)),
        _union(spans, own, INPUT) | waiting,
    )
    covered = Intervals.union()
    lengths, before = [], np.zeros(len(windows.start_ns), np.int64)
    for phase in phases:
        covered = covered | phase
        total = covered.length_within(windows.start_ns, windows.end_ns)
        lengths.append(total - before)
        before = total
    compute, transfer, wait, input_ = lengths
    idle = windows.end_ns - windows.start_ns - before
    return SplitSteps(replica, windows, compute, transfer, wait, input_, idle)


def _union(spans: Spans, own: Ints, category: int) -> Intervals:
    at = np.flatnonzero(own & (spans.category == category))
    return Intervals.union((spans.start_ns[at], spans.end_ns[at]))
