"""How much of the communication hides behind compute?

Per replica, over interval unions of its spans (HTA's definition):
overlap = |comm and compute| / |comm|; exposed = |comm without compute|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from strategy_lab.profiles.analysis.steps import typical_captured_steps
from strategy_lab.profiles.capture.intervals import Intervals
from strategy_lab.profiles.tables.columns import bools, ints, of_segment

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile

COMMUNICATION = ("collective", "transfer", "wait")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of one replica, mean over its typical steps. `overlap` is None where nothing was sent."""

    replica: int
    num_steps: int
    communication_ms: float
    exposed_ms: float
    overlap: float | None


def overlaps(profile: Profile, segment: int) -> tuple[Overlap, ...]:
    """The overlap of every replica that has spans in the segment; empty without any window."""
    rows = of_segment(profile.table("spans"), segment)
    typical = typical_captured_steps(profile, segment)
    if typical.size:
        rows = rows.filter(pa.array(np.isin(ints(rows, "step"), typical)))
    replicas = ints(rows, "replica")
    return tuple(
        _of_replica(int(replica), rows.filter(pa.array(replicas == replica)))
        for replica in np.unique(replicas[replicas >= 0])
    )


def _of_replica(replica: int, rows: pa.Table) -> Overlap:
    comm, compute = _covered(rows, COMMUNICATION), _covered(rows, ("compute",))
    comm_ns, compute_ns, either_ns = _length(comm), _length(compute), _length(comm | compute)
    both_ns = comm_ns + compute_ns - either_ns
    num_steps = len(np.unique(ints(rows, "step")))
    return Overlap(
        replica=replica,
        num_steps=num_steps,
        communication_ms=comm_ns / num_steps / 1e6,
        exposed_ms=(comm_ns - both_ns) / num_steps / 1e6,
        overlap=both_ns / comm_ns if comm_ns else None,
    )


def _covered(rows: pa.Table, categories: tuple[str, ...]) -> Intervals:
    is_one = pc.is_in(rows["category"].cast(pa.string()), pa.array(categories))
    chosen = bools(pa.table({"is_one": is_one}), "is_one")
    start = ints(rows, "start_ns")[chosen]
    return Intervals.union((start, start + ints(rows, "duration_ns")[chosen]))


def _length(intervals: Intervals) -> int:
    return int((intervals.ends - intervals.starts).sum())
