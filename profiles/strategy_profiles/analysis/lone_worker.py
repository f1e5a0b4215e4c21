"""Which worker of a `ClusterCoordinator` does steps while the others have none?

The sampler of the coordinator's stack sees which workers do a step. Where the program waits for all
of them (`join`) before it schedules more, it waits for the one that takes longest.
"""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from strategy_profiles.analysis.account.regions import Part, regions_of, split
from strategy_profiles.run.event_parts import StackFrame
from strategy_profiles.tables.store import Profile

FEWEST_SAMPLES = 10


class LoneWorker(Struct, frozen=True):
    """A worker that has a step while no other has one."""

    worker: int
    """Its number in the job `worker`."""
    alone_ms: float
    """Of all steps."""
    others_ms: float
    """Time in which another worker is the only one."""
    line: StackFrame | None
    """At which the program waits meanwhile."""


def lone_worker(profile: Profile, segment: int) -> LoneWorker | None:
    """Return the worker that is alone for longest; None without enough samples of such times."""
    regions = regions_of(profile, segment)
    if regions is None:
        return None
    alone: dict[int, list[Part]] = defaultdict(list)
    for part in split(regions, regions.is_step, regions.steps_ms):
        if len(part.place.busy) == 1:
            alone[part.place.busy[0]].append(part)
    total_ms = {worker: sum(part.ms for part in parts) for worker, parts in alone.items()}
    if not total_ms:
        return None
    worker = max(total_ms, key=lambda each: total_ms[each])
    if sum(part.num_samples for part in alone[worker]) < FEWEST_SAMPLES:
        return None
    frames = max(alone[worker], key=lambda part: part.ms).place.frames
    others_ms = sum(total_ms.values()) - total_ms[worker]
    return LoneWorker(worker, total_ms[worker], others_ms, frames[-1] if frames else None)
