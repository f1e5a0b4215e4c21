"""An edit of the batch: what a step computes before its all-reduce grows with the examples.

An op takes a fixed time and a time per example. One recording has one batch, so it does not show
the fixed time; the shortest ops of the passes do little else. The interval of a prediction goes
from no fixed time to that of the median op.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from strategy_lab.profiles.replay.collective_edits import SMALL_BYTES
from strategy_lab.profiles.replay.edits import Edit, Times, of_category
from strategy_lab.profiles.replay.recording import ReplayError
from strategy_lab.profiles.replay.replays import Replays
from strategy_lab.profiles.replay.step_graph import ENTER, HOST, HOST_GAP, StepGraph
from strategy_lab.profiles.tables.columns import Bools, Floats

_SHORTEST = 0.25
"""Quantile of the ops' lengths that counts as fixed time."""


@dataclass(frozen=True, slots=True)
class OtherBatch:
    """Forward pass, backward pass and input of another global batch; the rest stays."""

    batch: int
    recorded: int
    fixed: Callable[[Floats], float] = lambda work_ns: float(np.quantile(work_ns, _SHORTEST))
    """Fixed time of an op, in ns, from the lengths of all ops of the passes."""
    extremes: tuple[Edit, ...] = ()

    @property
    def title(self) -> str:
        return f"with a global batch of {self.batch:,} instead of {self.recorded:,}"

    def apply(self, graph: StepGraph, times: Times) -> None:
        ratio = self.batch / self.recorded
        chosen = _passes(graph)
        work_ns = times.work_ns[chosen]
        fixed_ns = np.minimum(work_ns, self.fixed(work_ns))
        times.work_ns[chosen] = fixed_ns + (work_ns - fixed_ns) * ratio
        asked = of_category(graph, (HOST,)) & (graph.nodes.launch == HOST_GAP)
        times.work_ns[asked | of_category(graph, ("input",))] *= ratio


def other_batch(known: Replays, batch: int) -> OtherBatch:
    """Return the edit; raises ReplayError if the recording does not allow it."""
    recorded = known.recording.segment.global_batch_size
    if not recorded:
        raise ReplayError("The global batch of this segment was not recorded")
    replicas = known.recording.segment.num_replicas
    if batch < 1 or batch % replicas:
        raise ReplayError(
            f"A global batch of {batch} cannot be shared equally among {replicas} replicas",
            advice=f"Give a multiple of {replicas}",
        )
    extremes = (
        OtherBatch(batch, recorded, lambda _work_ns: 0.0),
        OtherBatch(batch, recorded, lambda work_ns: float(np.median(work_ns))),
    )
    return OtherBatch(batch, recorded, extremes=extremes)


def _passes(graph: StepGraph) -> Bools:
    """Return which nodes are ops of the forward and backward pass.

    These are the ops from which a dependency leads to the start of a collective of gradients, that
    is of more than `SMALL_BYTES`. Raises ReplayError if there is no such collective.
    """
    nodes = graph.nodes
    entries = of_category(graph, (ENTER,)) & (nodes.bytes > SMALL_BYTES)
    if not entries.any():
        raise ReplayError(
            "Which ops grow with the batch is not known: no collective separates the passes from "
            "the update in the recorded steps",
            advice="Measure it with --try global_batch_size=N, or record collective-ring",
        )
    found = np.zeros(len(nodes), bool)
    left = np.flatnonzero(entries).tolist()
    while left:
        for before in graph.waits_for[left.pop()]:
            if not found[before]:
                found[before] = True
                left.append(before)
    return found & of_category(graph, ("compute", "other", "transfer"))
