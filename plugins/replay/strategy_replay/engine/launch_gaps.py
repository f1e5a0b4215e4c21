"""Launch gaps by the op and how it is launched, from other steps than the one that is replayed.

Gaps are skewed: most are short, a few last until the scheduler returns. Along a path their mean
counts, but a path of the longest is not taken in a usual step, so a gap is modelled as
`median + tail * (mean - median)` of its kind. One `tail` for the run: with it, the median of the
replays of the steps that the model comes from is the median of these steps.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from strategy_profiles.step_graph.graph import ENTRY, HOST, HOST_GAP, NO_GAP, StepGraph
from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.simulate import simulate

FEWEST = 3
"""With fewer recorded gaps of a kind, all gaps of its kind of launch count."""
Key = tuple[int, str]


def gap_keys(graph: StepGraph) -> list[Key]:
    """Return the kind of each node's gap: how it is launched, and its op or device.

    Of a device's first op also whether it waits for the host's request, and of that how often the
    host has asked since the step began or a function returned.
    """
    nodes = graph.nodes
    kinds: list[Key] = []
    counts: dict[bool, int] = {True: 0, False: 0}
    for at, (launch, op, device) in enumerate(
        zip(nodes.launch.tolist(), nodes.op, nodes.device, strict=True)
    ):
        if launch in (ENTRY, HOST_GAP):
            of_host = [nodes.category[each] == HOST for each in graph.waits_for[at]]
        if launch == ENTRY:
            kinds.append((launch, f"{device} {any(of_host)}"))
        elif launch == HOST_GAP:
            has_returned = not all(of_host)
            kinds.append((launch, f"{counts[has_returned]} {has_returned}"))
            counts[has_returned] += 1
        else:
            kinds.append((launch, op))
    return kinds


class GapModel:
    """The gaps of several steps."""

    def __init__(self, graphs: Sequence[StepGraph], works: Sequence[Floats], cores: float) -> None:
        """`works` are the lengths of the graphs' nodes on a core of their own."""
        pooled: dict[Key, list[float]] = defaultdict(list)
        of_launch: dict[int, list[float]] = defaultdict(list)
        for graph in graphs:
            for key, gap in zip(gap_keys(graph), graph.gap_ns.tolist(), strict=True):
                pooled[key].append(gap)
                of_launch[key[0]].append(gap)
        self._fallback = {launch: _moments(gaps) for launch, gaps in of_launch.items()}
        self._usual = {
            key: _moments(gaps) if len(gaps) >= FEWEST else self._fallback[key[0]]
            for key, gaps in pooled.items()
        }
        self.tail = 0.0
        self.tail = self._fitted(graphs, works, cores)

    def gaps_ns(self, graph: StepGraph) -> Floats:
        """Return a gap for each node of a step."""
        return self._gaps_ns(graph, self.tail)

    def _gaps_ns(self, graph: StepGraph, tail: float) -> Floats:
        none = (0.0, 0.0)
        ends = np.array(
            [
                none
                if key[0] == NO_GAP
                else self._usual.get(key) or self._fallback.get(key[0], none)
                for key in gap_keys(graph)
            ]
        )
        gaps: Floats = ends[:, 0] + tail * (ends[:, 1] - ends[:, 0])
        return gaps

    def _fitted(self, graphs: Sequence[StepGraph], works: Sequence[Floats], cores: float) -> float:
        """Return the tail, between the replays with none of it and with all.

        Fitted to the median of the steps' errors instead, the median replay of steps that are
        either quick or slow was 7 % too long.
        """
        measured = np.median([graph.wall_ns for graph in graphs])
        none, whole = (
            np.median(
                [
                    simulate(graph, work, self._gaps_ns(graph, tail), cores).length_ns
                    for graph, work in zip(graphs, works, strict=True)
                ]
            )
            for tail in (0.0, 1.0)
        )
        return float(np.clip((measured - none) / (whole - none), 0.0, 1.0)) if whole > none else 0.0


def _moments(gaps: list[float]) -> tuple[float, float]:
    values = np.asarray(gaps)
    return float(np.median(values)), float(values.mean())
