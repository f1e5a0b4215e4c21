"""An edit: the gradients' collectives run while the backward pass goes on.

A gradient is ready before the last one is, and its collective may start then; the update waits for
all of them. The last gradients to be ready cannot be hidden: at least one latency stays.

    exposed = max(latency, time of the collectives - time in which gradients are ready)

The recording has when all gradients of a collective are ready, not each of them. A backward pass
computes two products of matrices for one of the forward pass, so gradients become ready over about
two thirds of the passes: the likely case. The interval goes from all of the passes to a third. That
the bytes slow the computation down on devices that share cores or memory is not counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.tables.columns import Bools
from strategy_replay.engine.batch_edit import passes_of
from strategy_replay.engine.collective_edits import gradient_costs, gradient_exits
from strategy_replay.engine.edits import Edit, Times
from strategy_replay.engine.replays import Replays

_LIKELY, _LEAST, _MOST = 2 / 3, 1 / 3, 1.0
"""Share of the passes during which gradients become ready."""


@dataclass(frozen=True, slots=True)
class Overlapped:
    """Collectives of gradients take only what the backward pass does not hide."""

    latency_ns: float
    """Stays: of the last gradients to be ready."""
    hiding: float = _LIKELY
    """Share of the passes that hides communication."""
    extremes: tuple[Edit, ...] = ()
    title: str = "with communication overlapped by the backward pass"

    def apply(self, graph: StepGraph, times: Times) -> None:
        exits, passes = gradient_exits(graph), passes_of(graph)
        for replica in np.unique(graph.nodes.replica[exits]):
            is_its = graph.nodes.replica == replica
            own = exits & is_its
            moved_ns = float(times.work_ns[own].sum())
            if moved_ns > 0:
                hidden_ns = self.hiding * _length_ns(graph, passes & is_its)
                exposed_ns = max(moved_ns - hidden_ns, min(self.latency_ns, moved_ns))
                times.work_ns[own] *= exposed_ns / moved_ns


def overlapped(known: Replays) -> Overlapped:
    """Return the edit; raises ReplayError if no collective of gradients was recorded."""
    likely, least, most = (cost.latency_ns for cost in gradient_costs(known))
    extremes = (Overlapped(least, _MOST), Overlapped(most, _LEAST))
    return Overlapped(likely, extremes=extremes)


def _length_ns(graph: StepGraph, passes: Bools) -> float:
    """Return the time from the start of the first of these ops to the end of the last."""
    nodes = graph.nodes
    return float(nodes.end_ns[passes].max() - nodes.start_ns[passes].min()) if passes.any() else 0.0
