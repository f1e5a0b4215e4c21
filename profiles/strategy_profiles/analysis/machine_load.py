"""How busy was the machine while a segment trained: with this run, with other programs?"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.steps import step_times
from strategy_profiles.tables.columns import distinct, floats, ints
from strategy_profiles.tables.store import Profile

FULL_SHARE = 0.9
"""From this share of its CPUs on, a machine counts as fully used."""
NOTABLE_SHARE = 0.1
"""From this share of its CPUs on, what others use is worth a sentence."""
MOST_SHARE = 0.5
"""Share of the CPUs from which on others have most of them."""
NAMED_CORES = 0.05
"""From so many cores on, other virtual machines are named beside other programs."""


class MachineLoad(Struct, frozen=True):
    """Means over the samples of a segment, in CPU cores; of the host with the most other load."""

    num_samples: int
    num_cores: int
    run_cores: float
    """Used by this run's processes."""
    other_cores: float
    """Used by programs outside of the run, the lab's server and a browser among them."""
    stolen_cores: float
    """Given to other virtual machines by the hypervisor."""

    @property
    def taken_cores(self) -> float:
        """Used by other programs and by other virtual machines."""
        return self.other_cores + self.stolen_cores

    @property
    def is_notable(self) -> bool:
        """Whether others took so much that they may be why steps differ."""
        return self.taken_cores >= NOTABLE_SHARE * self.num_cores

    @property
    def is_full(self) -> bool:
        return self.run_cores + self.taken_cores >= FULL_SHARE * self.num_cores

    @property
    def is_mostly_taken(self) -> bool:
        """Whether others have so much of a full machine that a replica, or the input, may wait for
        a core rather than for anything in the program."""
        return self.is_full and self.taken_cores >= MOST_SHARE * self.num_cores


def takers(loads: Iterable[MachineLoad]) -> str:
    """Return who used the `taken_cores` of these loads, as the subject of a sentence."""
    if any(load.stolen_cores >= NAMED_CORES for load in loads):
        return "Other programs and other virtual machines"
    return "Other programs"


def machine_load(profile: Profile, segment: int) -> MachineLoad | None:
    """Return the load from the end of the first step to the last one; None without a sample.

    Each sample covers the time since the one before, so the first sample after the first step is
    left out: it includes tracing and compilation.
    """
    steps, rows = step_times(profile, segment), profile.table("resources")
    if not steps.count or not rows.num_rows:
        return None
    begin_ns = int(steps.start_ns[0]) + int(steps.wall_ms[0] * 1e6)
    end_ns = int(steps.start_ns[-1]) + int(steps.wall_ms[-1] * 1e6)
    since_ns = ints(rows, "at_ns") - (floats(rows, "interval_ms") * 1e6).astype(np.int64)
    rows = rows.filter((since_ns >= begin_ns) & (ints(rows, "at_ns") <= end_ns))
    if not rows.num_rows:
        return None
    at_ns, index = distinct(ints(rows, "at_ns"))
    run = np.bincount(index, weights=floats(rows, "cores"))
    lowest = np.full(len(at_ns), np.iinfo(np.int64).max)
    np.minimum.at(lowest, index, ints(rows, "worker"))
    first = np.unique(index, return_index=True)[1]
    num, busy, stolen = (
        floats(rows, name)[first] for name in ("num_cores", "busy_cores", "stolen_cores")
    )
    other = np.maximum(busy - run, 0.0)
    # A launcher samples its own host only; its lowest worker tells the hosts apart.
    loads = []
    for worker in np.unique(lowest):
        own = lowest == worker
        used = (float(cores[own].mean()) for cores in (run, other, stolen))
        loads.append(MachineLoad(int(own.sum()), int(num[own].max()), *used))
    return max(loads, key=lambda load: load.taken_cores)
