"""How much of the communication hides behind compute?

Per replica and step, over interval unions of its spans (HTA's definition):
overlap = |comm and compute| / |comm|; exposed = |comm without compute|.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from profiles.analysis.columns import Ints, ints, of_segment, texts
from profiles.analysis.intervals import intersection_length, union_length

if TYPE_CHECKING:
    from profiles.store import Profile

COMMUNICATION = ("collective", "transfer", "wait")


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of one replica, mean over its captured steps. `overlap` is None where nothing was sent."""

    replica: int
    num_steps: int
    communication_ms: float
    exposed_ms: float
    overlap: float | None


def overlaps(profile: Profile, segment: int) -> tuple[Overlap, ...]:
    """The overlap of every replica that has spans in the segment; empty without any window."""
    rows = of_segment(profile.table("spans"), segment)
    replicas, steps = ints(rows, "replica"), ints(rows, "step")
    categories = np.array([text or "" for text in texts(rows, "category")], dtype=object)
    start = ints(rows, "start_ns")
    end = start + np.maximum(ints(rows, "duration_ns"), 0)
    is_comm = np.isin(categories, COMMUNICATION)
    is_compute = categories == "compute"
    found = []
    for replica in np.unique(replicas[replicas >= 0]):
        parts = [
            _of_step((replicas == replica) & (steps == step), is_comm, is_compute, start, end)
            for step in np.unique(steps[replicas == replica])
        ]
        comm, both = np.array(parts, dtype=np.int64).sum(axis=0).tolist()
        found.append(
            Overlap(
                replica=int(replica),
                num_steps=len(parts),
                communication_ms=comm / len(parts) / 1e6,
                exposed_ms=(comm - both) / len(parts) / 1e6,
                overlap=both / comm if comm else None,
            )
        )
    return tuple(found)


def _of_step(
    chosen: np.ndarray, is_comm: np.ndarray, is_compute: np.ndarray, start: Ints, end: Ints
) -> tuple[int, int]:
    """Nanoseconds of communication, and of it beside compute."""
    comm, compute = chosen & is_comm, chosen & is_compute
    both = intersection_length(start[comm], end[comm], start[compute], end[compute])
    return union_length(start[comm], end[comm]), both
