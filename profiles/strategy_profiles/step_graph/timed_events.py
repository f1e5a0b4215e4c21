"""The nodes of replicas whose ops are not recorded: one for each phase, from their timestamps."""

from __future__ import annotations

import math
from collections.abc import Sequence

from strategy_profiles.step_graph.graph import ENTER, ENTRY, NO_GAP, WAKE
from strategy_profiles.step_graph.step_event import Event, demand_of
from strategy_profiles.step_graph.timed_replicas import TimedReplica


def timed_events(replicas: Sequence[TimedReplica], begin: int) -> list[Event]:
    """Return the phases of the replicas of other workers, and the entries of their gradients.

    A worker may start its step before the first one does: what it did before is left out.
    """
    events: list[Event] = []
    for each in replicas:
        op = f"worker {each.worker}"
        computed = each.gradients_ns - each.delay_ns
        pieces = [
            ("input", each.start_ns, each.start_ns + each.input_ns, WAKE),
            ("compute", each.ready_ns, computed, WAKE),
            ("delay", computed, each.gradients_ns, NO_GAP),
            (ENTER, each.gradients_ns, each.gradients_ns, NO_GAP),
        ]
        last: list[Event] = []
        for category, start, end, launch in pieces:
            if category != ENTER and end <= max(start, begin):
                continue
            event = Event(
                max(start - begin, 0), max(end - begin, 0), op, op, category, each.replica,
                each.device, launch=launch if last else ENTRY, before=last,
            )  # fmt: skip
            events.append(event)
            last = [event]
    return events


def phases_ns(replica: TimedReplica) -> dict[str, float]:
    """Return the length of each phase, also of what was before the first worker's step."""
    return {
        "compute": replica.compute_ns,
        "delay": replica.delay_ns,
        "input": replica.input_ns,
    }


def mean_demand(ops: Sequence[Event], members: Sequence[Event], cores: float) -> float:
    """Return how many cores the ops until the all-reduce use on average."""
    until = max((event.start for event in members), default=math.inf)
    chosen = [event for event in ops if event.end <= until and event.category == "compute"]
    if not chosen:
        return 1.0
    during = max(event.end for event in chosen) - min(event.start for event in chosen)
    used = sum((event.end - event.start) * demand_of(event, cores) for event in chosen)
    return min(used / during, cores)
