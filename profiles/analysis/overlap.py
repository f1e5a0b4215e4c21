"""How much of the communication hides behind compute?

Per replica, over interval unions of its spans (HTA's definition):
overlap = |comm and compute| / |comm|; exposed = |comm without compute|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_lab.profiles.analysis.steps import typical_captured_steps
from strategy_lab.profiles.capture.intervals import Intervals
from strategy_lab.profiles.tables.columns import (
    Bools,
    Ints,
    distinct,
    ints,
    is_one_of,
    of_segment,
)

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile

COMMUNICATION = ("collective", "transfer", "wait")
_COLUMNS = ("segment", "step", "replica", "category", "start_ns", "duration_ns")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Means over the typical steps of one replica. `overlap` is None if nothing was sent."""

    replica: int
    num_steps: int
    communication_ms: float
    exposed_ms: float
    overlap: float | None


def overlaps(profile: Profile, segment: int) -> tuple[Overlap, ...]:
    """The overlap of every replica that has spans in the segment; empty without any window."""
    rows = of_segment(profile.table("spans").select(_COLUMNS), segment)
    step, replicas = ints(rows, "step"), ints(rows, "replica")
    typical = typical_captured_steps(profile, segment)
    counts = np.isin(step, typical) if typical.size else np.ones(len(step), np.bool_)
    start = ints(rows, "start_ns")
    spans = start, start + ints(rows, "duration_ns")
    kinds = (is_one_of(rows, "category", names) for names in (COMMUNICATION, ("compute",)))
    comm, compute = (counts & is_kind for is_kind in kinds)
    found = []
    for replica in distinct(replicas[counts & (replicas >= 0)])[0].tolist():
        own = replicas == replica
        num_steps = len(distinct(step[own & counts])[0])
        parts = (_covered(spans, own & is_kind) for is_kind in (comm, compute))
        found.append(_of_replica(replica, num_steps, *parts))
    return tuple(found)


def _of_replica(replica: int, num_steps: int, comm: Intervals, compute: Intervals) -> Overlap:
    comm_ns, compute_ns, either_ns = _length(comm), _length(compute), _length(comm | compute)
    both_ns = comm_ns + compute_ns - either_ns
    return Overlap(
        replica=replica,
        num_steps=num_steps,
        communication_ms=comm_ns / num_steps / 1e6,
        exposed_ms=(comm_ns - both_ns) / num_steps / 1e6,
        overlap=both_ns / comm_ns if comm_ns else None,
    )


def _covered(spans: tuple[Ints, Ints], chosen: Bools) -> Intervals:
    start, end = spans
    return Intervals.union((start[chosen], end[chosen]))


def _length(intervals: Intervals) -> int:
    return int((intervals.ends - intervals.starts).sum())
