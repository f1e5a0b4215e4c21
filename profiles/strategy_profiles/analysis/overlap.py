"""How much of the communication hides behind compute?

Per replica: overlap = |comm and compute| / |comm|; exposed = |comm without compute|. Captures write
the lengths of each step into `replica_steps`; in runs of earlier versions and in imported profiles
they are derived from the spans, which takes longer than everything else on a page.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.capture.exposed import SPAN_COLUMNS, exposed_communication
from strategy_profiles.tables.columns import (
    Floats,
    Ints,
    distinct,
    floats,
    ints,
    is_one_of,
    of_segment,
)
from strategy_profiles.tables.store import Profile, once


class Overlap(Struct, frozen=True):
    """Means over the typical steps of one replica. `overlap` is None if nothing was sent."""

    replica: int
    num_steps: int
    communication_ms: float
    exposed_ms: float
    overlap: float | None


@once
def overlaps(profile: Profile, segment: int) -> tuple[Overlap, ...]:
    """The overlap of every replica that has spans in the segment; empty without any window."""
    typical = typical_captured_steps(profile, segment)
    replica, comm_ms, exposed_ms = _recorded(profile, segment, typical) or _of_spans(
        profile, segment, typical
    )
    all_overlaps = []
    for number in distinct(replica)[0].tolist():
        own = replica == number
        comm, exposed = float(comm_ms[own].sum()), float(exposed_ms[own].sum())
        num_steps = int(own.sum())
        all_overlaps.append(
            Overlap(
                replica=number,
                num_steps=num_steps,
                communication_ms=comm / num_steps,
                exposed_ms=exposed / num_steps,
                overlap=max(comm - exposed, 0.0) / comm if comm else None,
            )
        )
    return tuple(all_overlaps)


_Lengths = tuple[Ints, Floats, Floats]
"""By step and replica: the replica, its communication, and what of it is exposed."""


def _recorded(profile: Profile, segment: int, typical: Ints) -> _Lengths | None:
    """Return the lengths in `replica_steps`; None if rows of an earlier version lack them."""
    rows = of_segment(profile.table("replica_steps"), segment)
    captured = ~is_one_of(rows, "source", ("marks",))
    rows = rows.filter(captured & np.isin(ints(rows, "step"), typical))
    if not rows.num_rows or rows["communication_ms"].null_count or rows["exposed_ms"].null_count:
        return None
    return ints(rows, "replica"), floats(rows, "communication_ms"), floats(rows, "exposed_ms")


def _of_spans(profile: Profile, segment: int, typical: Ints) -> _Lengths:
    rows = of_segment(profile.columns("spans", ("segment", *SPAN_COLUMNS)), segment)
    counts = np.isin(ints(rows, "step"), typical) if typical.size else None
    _, replica, comm_ns, exposed_ns = exposed_communication(rows, counts)
    return replica, comm_ns / 1e6, exposed_ns / 1e6
