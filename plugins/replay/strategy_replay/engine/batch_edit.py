"""An edit of the batch: what a step computes before its all-reduce grows with the examples.

An op takes a fixed time and a time per example, and one recording has one batch. On CPU devices
the fixed time of a large op was about 60 us (to split it over the threads of a pool, and to wake
these), and small ops had no other. Tried with batches of 32, 64 and 128 of five workloads on two
cores: predictions with 60 us were 4 % off (median of 40; at most 16 %), with the first quartile of
the ops' lengths 10 % (32 %). On another machine of two cores, on which other programs ran, four
times the batch of four workloads was 29 % off (median of 32), and 23 of the 32 steps were within an
interval of 30 to 100 us. All were within one of 12 to 300 us.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.columns import Bools
from strategy_replay.engine.batch_free import copy_ns, gradient_entries, without_examples
from strategy_replay.engine.edits import Edit, Times, as_the_recorded, of_category
from strategy_replay.engine.replays import Replays

FIXED_NS = 60_000.0
SPREAD = 5.0
"""90 % of fixed times are expected from a fifth to five times of `FIXED_NS`."""
RECORD_ANOTHER = (
    "A recording of one batch does not tell how much of an op's time grows with the examples. "
    "Change the batch while a run trains, so that both are captured: the interval is then narrower."
)
MOST_CHECKED = 8
"""Times the recorded batch, or a part of it, that predictions were compared with."""
NOT_CHECKED = (
    f"This is arithmetic on paper: no prediction of a batch more than {MOST_CHECKED} times as "
    "large or as small was checked against a measurement."
)


@dataclass(frozen=True, slots=True)
class OtherBatch:
    """Forward pass, backward pass and input of another global batch; the rest stays."""

    batch: int
    recorded: int
    fixed_ns: float = FIXED_NS
    """Fixed time of an op; a shorter op has no other. What moving its variables takes is added, and
    is as uncertain: it changes in the same ratio."""
    does_wait: bool = False
    """Whether the host waits longer for a larger batch; batches are usually prefetched."""
    source: str = ""
    """Where the fixed time comes from, if it is not the usual one."""
    extremes: tuple[Edit, ...] = ()
    what_to_record: str = RECORD_ANOTHER

    @property
    def advice(self) -> str:
        times = max(self.times_examples, 1 / self.times_examples)
        far = NOT_CHECKED if times > MOST_CHECKED else ""
        return f"{far} {self.what_to_record}".strip()

    @property
    def title(self) -> str:
        title = f"with a global batch of {self.batch:,} instead of {self.recorded:,}"
        return f"{title} ({self.source})" if self.source else title

    @property
    def times_examples(self) -> float:
        return self.batch / self.recorded

    def apply(self, graph: StepGraph, times: Times) -> None:
        ratio = self.times_examples
        chosen = passes_of(graph) & ~without_examples(graph)
        before_ns = times.work_ns.copy()
        work_ns = before_ns[chosen]
        moving_ns = copy_ns(graph, before_ns)[chosen] * (self.fixed_ns / FIXED_NS)
        fixed_ns = np.minimum(work_ns, self.fixed_ns + moving_ns)
        times.work_ns[chosen] = fixed_ns + (work_ns - fixed_ns) * ratio
        as_the_recorded(graph, times, before_ns)
        times.work_ns[of_category(graph, ("input",))] *= ratio
        if self.does_wait:
            times.work_ns[graph.is_wait_for_batch] *= ratio


def other_batch(known: Replays, batch: int) -> OtherBatch:
    """Return the edit with the usual fixed time. See `batch_fit` for a run that recorded two.

    Raises ReplayError if the recording does not allow it.
    """
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
        OtherBatch(batch, recorded, FIXED_NS / SPREAD, does_wait=True),
        OtherBatch(batch, recorded, FIXED_NS * SPREAD),
    )
    return OtherBatch(batch, recorded, extremes=extremes)


def passes_of(graph: StepGraph) -> Bools:
    """Return which nodes are ops of the forward and backward pass.

    These are the ops from which a dependency leads to the start of a collective of gradients, that
    is of more than `SMALL_BYTES`. Raises ReplayError if there is no such collective.
    """
    left = gradient_entries(graph)
    if not left:
        raise ReplayError(
            "Which ops grow with the batch is not known: no collective separates the passes from "
            "the update in the recorded steps",
            advice="Measure it with --try global_batch_size=N, or record collective-ring",
        )
    passes = np.zeros(len(graph), bool)
    while left:
        for before in graph.waits_for[left.pop()]:
            if not passes[before]:
                passes[before] = True
                left.append(before)
    return passes & of_category(graph, ("compute", "other", "transfer"))
