"""Where a step of a worker of parameter servers goes: from one start to its next.

Pull and push are transfer. Workers do not wait for each other, so there is no wait; the rest until
the worker begins its next step (results on their way, the coordinator's turn) is idle.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.steps import typical_steps
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.tables.columns import floats, ints, of_segment
from strategy_profiles.tables.served_tables import SERVED_PARTS
from strategy_profiles.tables.store import Profile


class ServedPhases(Struct, frozen=True):
    """Means of a worker's typical steps, in ms; the phases add up to the wall."""

    worker: int
    replica: int
    device: str | None
    num_steps: int
    wall_ms: float
    compute_ms: float
    delay_ms: float
    wait_ms: float
    transfer_ms: float
    input_ms: float
    idle_ms: float


def served_phases(profile: Profile, segment: SegmentOpened) -> tuple[ServedPhases, ...]:
    """One per worker whose steps recorded their parts; the first step of each is left out."""
    rows = of_segment(profile.table("closures"), segment.segment)
    workers = np.unique(ints(rows, "worker")).tolist()
    phases = (_of_worker(rows, number, segment.replica_devices) for number in workers)
    return tuple(item for item in phases if item is not None)


def _of_worker(rows: pa.Table, number: int, devices: list[str]) -> ServedPhases | None:
    own = rows.filter(pa.array(ints(rows, "worker") == number))
    own = own.take(pa.array(np.argsort(ints(own, "start_ns"), kind="stable")))
    cycle = np.diff(ints(own, "start_ns")) / 1e6
    # A step counts where the next one begins: the first one prepares, the last has no next.
    parts = {name: floats(own, f"{name}_ms")[1:-1] for name in SERVED_PARTS}
    cycle = cycle[1:]
    if not cycle.size or not all(np.isfinite(values).all() for values in parts.values()):
        return None
    step = ints(own, "step")[1:-1]
    typical = np.isin(step, typical_steps(step, cycle))
    mean = {name: float(values[typical].mean()) for name, values in parts.items()}
    wall = float(cycle[typical].mean())
    return ServedPhases(
        worker=number,
        replica=number - 1,
        device=devices[number - 1] if 0 < number <= len(devices) else None,
        num_steps=int(typical.sum()),
        wall_ms=max(wall, sum(mean.values())),
        compute_ms=mean["compute"],
        delay_ms=mean["delay"],
        wait_ms=0.0,
        transfer_ms=mean["pull"] + mean["push"],
        input_ms=mean["input"],
        idle_ms=max(wall - sum(mean.values()), 0.0),
    )
