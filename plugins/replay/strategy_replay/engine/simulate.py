"""When each node of a step starts and ends, given its length, its launch gap and the cores.

Two rules, chosen by the number of cores. With a core for every thread, one pass in topological
order: a node starts when the last node that it waits for has ended, after its gap. With fewer
cores, running nodes share them equally (processor sharing): n nodes on c cores each run at the
rate min(1, c / n). As the rate is the same for all, one clock that runs at it tells when each node
has had its work (virtual time, as in Parekh and Gallager's generalized processor sharing, 1993).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.tables.columns import Floats


@dataclass(frozen=True, slots=True)
class Schedule:
    """Start and end of each node, in ns since the step's start."""

    start_ns: Floats
    end_ns: Floats

    @property
    def length_ns(self) -> float:
        """Length of the step: its last node is its end."""
        return float(self.end_ns[-1])


def simulate(graph: StepGraph, work_ns: Floats, gap_ns: Floats, cores: float) -> Schedule:
    """Run the step. `work_ns` is how long each node takes on a core of its own."""
    if np.isinf(cores):
        return _in_order(graph, work_ns, gap_ns)
    return _shared(graph, work_ns, gap_ns, cores)


def _in_order(graph: StepGraph, work_ns: Floats, gap_ns: Floats) -> Schedule:
    starts: list[float] = []
    ends: list[float] = []
    for before, work, gap in zip(graph.waits_for, work_ns.tolist(), gap_ns.tolist(), strict=True):
        ready = max([ends[each] for each in before], default=0.0)
        starts.append(ready + gap)
        ends.append(ready + gap + work)
    return Schedule(np.array(starts), np.array(ends))


def _shared(graph: StepGraph, work_ns: Floats, gap_ns: Floats, cores: float) -> Schedule:
    work, gaps = work_ns.tolist(), gap_ns.tolist()
    demand = np.where(work_ns > 0, graph.nodes.demand, 0.0).tolist()
    followers = graph.followers
    left = [len(before) for before in graph.waits_for]
    starts, ends = [0.0] * len(work), [0.0] * len(work)
    push, pop = heapq.heappush, heapq.heappop
    timed: list[tuple[float, int]] = []  # by time: node n starts, or, as n + size, ends
    running: list[tuple[float, int]] = []  # by the shared clock
    size = len(work)
    for at, waits in enumerate(left):
        if not waits:
            push(timed, (gaps[at], at))
    now = clock = 0.0
    rate, demanded = 1.0, 0.0
    infinite = float("inf")
    while timed or running:
        next_run = now + (running[0][0] - clock) / rate if running else infinite
        if timed and timed[0][0] <= next_run:
            at_time, at = pop(timed)
            clock += (at_time - now) * rate
            now = at_time
            if at < size:
                starts[at] = now
                if demand[at]:
                    push(running, (clock + work[at], at))
                    demanded += demand[at]
                    rate = min(1.0, cores / demanded)
                    continue
                if work[at] > 0:
                    push(timed, (now + work[at], at + size))
                    continue
            else:
                at -= size
        else:
            clock, at = pop(running)
            now = next_run
            demanded -= demand[at]
            rate = min(1.0, cores / demanded) if running else 1.0
        ends[at] = now
        for each in followers[at]:
            left[each] -= 1
            if not left[each]:
                push(timed, (now + gaps[each], each))
    return Schedule(np.array(starts), np.array(ends))


def own_work(graph: StepGraph, cores: float) -> Floats:
    """Return how long each node would have taken alone, from when it ran beside others.

    The inverse of the sharing in `simulate`: each node gets the shared clock's advance while it
    ran. Nodes that need no core keep their length.
    """
    nodes, lengths = graph.nodes, graph.length_ns
    counts = (nodes.demand > 0) & (lengths > 0)
    if np.isinf(cores) or not counts.any():
        return lengths
    times = np.concatenate([nodes.start_ns[counts], nodes.end_ns[counts]])
    change = np.concatenate([nodes.demand[counts], -nodes.demand[counts]])
    order = np.argsort(times, kind="stable")
    times, demanded = times[order], np.cumsum(change[order])
    rate = np.minimum(1.0, cores / np.maximum(demanded, 1.0))
    clock = np.concatenate([[0.0], np.cumsum(np.diff(times) * rate[:-1])])
    work = np.interp(nodes.end_ns, times, clock) - np.interp(nodes.start_ns, times, clock)
    return np.where(counts, np.clip(work, 0.0, lengths), lengths)
