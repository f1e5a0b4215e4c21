"""Edits of a step: each changes the work and the launch gaps of some nodes.

An edit changes no edge: what waits for what stays. Work is the length on a core of its own, so ops
that run at other times than recorded share the cores again.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.run.tensorflow_names import (
    PRINT,
    PRINTING_OPS,
    PYTHON_OPS,
    type_as_written,
)
from strategy_profiles.step_graph.graph import (
    END,
    END_GAP,
    ENTER,
    ENTRY,
    HOST,
    HOST_GAP,
    INPUT,
    TAKE,
    StepGraph,
)
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.columns import Bools, Floats

COMMUNICATION = "communication"
_BY_HOST = (ENTRY, HOST_GAP, END_GAP)
_MOVES = ("collective", "transfer")
_LEAST_LEFT = 0.75
_MOST_RECOVERED = 0.08
_PHASES = {"compute": ("compute", "other"), "delay": ("delay",), "input": ("input",)}
_OF_REPLICA = ("compute", "delay", "input", "other")


@dataclass(frozen=True, slots=True)
class Times:
    """What an edit changes: one entry per node, in ns."""

    work_ns: Floats
    gap_ns: Floats


class Edit(Protocol):
    """A change of a step."""

    @property
    def title(self) -> str:
        """What it is, to be put after `With` or `Without`: `without the injected delay`."""
        ...

    def apply(self, graph: StepGraph, times: Times) -> None:
        """Change the times in place. Raises ReplayError if the step has no such node."""
        ...


@runtime_checkable
class UncertainEdit(Edit, Protocol):
    """An edit with a quantity that the recording leaves open within limits."""

    @property
    def extremes(self) -> tuple[Edit, ...]:
        """The same change with the least and the most of it."""
        ...


@runtime_checkable
class AdvisedEdit(Edit, Protocol):
    """An edit that another recording would predict more precisely."""

    @property
    def advice(self) -> str:
        """What to record, as sentences; empty if there is nothing better."""
        ...


@runtime_checkable
class ExamplesEdit(Edit, Protocol):
    """An edit after which a step has another number of examples."""

    @property
    def times_examples(self) -> float:
        """Examples of a step with it over those of a step without it."""
        ...


@dataclass(frozen=True, slots=True)
class RemoveDelay:
    """The lab's injected delays take no time, and what ran after them on idle CPU cores less.

    While a replica sleeps its cores idle, and what they run next takes longer: their caches are
    cold, and a virtual machine may have lost them. Runs with and without delays of 3 to 30 ms on
    two virtual cores differed by the delay and 0 to 8 % of it, 4 % in the middle; the interval of
    a prediction goes from 0 to 8 %.
    """

    title: str = "without the injected delay"
    recovered: float = 0.04
    """Time that the rest of a step on CPU cores gains, as a share of the delay."""

    @property
    def extremes(self) -> tuple[Edit, ...]:
        return tuple(RemoveDelay(recovered=share) for share in (0.0, 2 * self.recovered))

    def apply(self, graph: StepGraph, times: Times) -> None:
        chosen = of_category(graph, ("delay",))
        if not chosen.any():
            if any(each["delay"] for each in graph.phases_ns.values()):
                return  # a worker's delay that was over when the first worker began its step
            raise ReplayError(
                "No injected delay was recorded in this segment's steps",
                advice="Record a run with --inject delay:replica=1,ms=30 to see one",
            )
        removed_ns = _longest_of_a_replica(graph, times.work_ns, chosen)
        times.work_ns[chosen] = 0.0
        _recover(graph, times, removed_ns, self.recovered)


def _recover(graph: StepGraph, times: Times, removed_ns: float, share: float) -> None:
    """Shorten what runs on CPU cores after a wait that is gone, by a share of that wait."""
    rest_ns = graph.wall_ns - removed_ns
    if graph.nodes.demand.any() and rest_ns > 0:
        left = max(1 - share * removed_ns / rest_ns, _LEAST_LEFT)
        times.work_ns[:] *= left
        times.gap_ns[:] *= left


def _longest_of_a_replica(graph: StepGraph, work_ns: Floats, chosen: Bools) -> float:
    replicas = graph.nodes.replica[chosen]
    return max(float(work_ns[chosen][replicas == each].sum()) for each in set(replicas.tolist()))


@dataclass(frozen=True, slots=True)
class InputFree:
    """The batch is there when the step asks for it.

    The host's own Python stays: what it takes until it asks, and to hand the batch to the replicas.

    Cores that idle during a long wait make what follows slower, as during a delay (`RemoveDelay`):
    after waits of 350 ms the rest of a step took 46 ms, and 32 ms without them. After shorter waits
    it took as long as without, so that none of it counts, and the interval goes to 8 % of the wait.
    """

    title: str = "with input for free"
    recovered: float = 0.0
    """Time that the rest of a step on CPU cores gains, as a share of the wait."""

    @property
    def extremes(self) -> tuple[Edit, ...]:
        return (InputFree(recovered=_MOST_RECOVERED),)

    def apply(self, graph: StepGraph, times: Times) -> None:
        chosen = of_category(graph, ("input",)) | graph.is_wait_for_batch
        if not chosen.any():
            raise ReplayError("The recorded steps have no time in which they ask for a batch")
        nodes = graph.nodes
        waits = Intervals.union(
            (nodes.start_ns[chosen].astype(np.int64), nodes.end_ns[chosen].astype(np.int64))
        )
        times.work_ns[chosen] = 0.0
        _recover(graph, times, float((waits.ends - waits.starts).sum()), self.recovered)


MOST_NAMED = 30
"""Types of op that an error names."""


@dataclass(frozen=True, slots=True)
class Faster:
    """The ops of a kind take 1/times as long.

    Without its Python ops, or those of `tf.print`, the host's own Python takes about half as long,
    too, and no op waits for a core that they used: of the launch gaps of the others, what passed
    while they ran is gone. On two cores, seven programs whose steps took 10 to 51 ms with a Python
    op in each replica took 3.2 to 5.6 ms without it. With the op alone for free, 5.5 to 9.2 ms were
    predicted, with half the time of the host 2.9 to 6.0 ms. Steps of 7.0 to 11.5 ms that print took
    2.7 to 4.5 ms without it; 6.1 to 11.1 ms were predicted with the ops alone for free, 3.6 to
    7.6 ms with half the time of the host, and 3.4 to 6.5 ms without the waits as well. The interval
    goes from all of the host's time and the waits to 35 % of it and no waits.
    """

    kind: str
    """Type of op (`Conv2D`, which oneDNN's `_MklNativeConv2D` is as well), a category of the table
    `spans`, `communication`, or `tf.print`."""
    times: float
    host_left: float = 0.5
    """What is left of the host's time, if ops that keep it up take none."""
    waits_left: float = 0.0
    """What is left of the others' launch gaps while those ops ran."""

    @property
    def title(self) -> str:
        if np.isinf(self.times):
            return f"with {self.kind} for free"
        return f"with {self.kind} {self.times:g} times as fast"

    @property
    def extremes(self) -> tuple[Edit, ...]:
        """The same edit with the most and the least of the host's time left, for the interval."""
        if not self._frees_host:
            return ()
        return (
            replace(self, host_left=1.0, waits_left=1.0),
            replace(self, host_left=0.35, waits_left=0.0),
        )

    @property
    def _frees_host(self) -> bool:
        return np.isinf(self.times) and self.kind in {PRINT, *PYTHON_OPS, *PRINTING_OPS}

    def apply(self, graph: StepGraph, times: Times) -> None:
        chosen = self._selected_nodes(graph)
        if not chosen.any():
            raise ReplayError(
                f"No op of kind {self.kind!r} is in the recorded steps",
                advice=f"Choose communication, compute, or one of {', '.join(_longest(graph))}",
            )
        before_ns = times.work_ns.copy()
        times.work_ns[chosen] /= self.times
        if self._frees_host:
            times.gap_ns[:] *= 1 - (1 - self.waits_left) * _share_of_gaps(graph, chosen)
            times.work_ns[of_category(graph, (HOST,))] *= self.host_left
            times.gap_ns[np.isin(graph.nodes.launch, _BY_HOST)] *= self.host_left
        if graph.timed and not chosen[graph.is_timed].any():
            as_the_recorded(graph, times, before_ns)

    def _selected_nodes(self, graph: StepGraph) -> Bools:
        if self.kind == COMMUNICATION:
            return of_category(graph, _MOVES)
        if self.kind == PRINT:
            return np.isin(graph.nodes.op, list(PRINTING_OPS))
        wanted = self.kind.lower()
        nodes = graph.nodes
        return np.array(
            [
                wanted == category
                if category in (HOST, ENTER, "delay")
                else wanted in (op.lower(), type_as_written(op).lower(), category)
                for op, category in zip(nodes.op, nodes.category, strict=True)
            ]
        )


def _share_of_gaps(graph: StepGraph, chosen: Bools) -> Floats:
    """Return the share of each node's recorded launch gap that passed while the chosen ops ran."""
    nodes = graph.nodes
    ran = Intervals.union(
        (nodes.start_ns[chosen].astype(np.int64), nodes.end_ns[chosen].astype(np.int64))
    )
    start_ns = nodes.start_ns.astype(np.int64)
    within_ns = ran.length_within(start_ns - graph.gap_ns.astype(np.int64), start_ns)
    share: Floats = within_ns / np.maximum(graph.gap_ns, 1.0)
    return np.minimum(share, 1.0)


def _longest(graph: StepGraph) -> list[str]:
    """The types of op that a program can write, those that take longest first."""
    lengths: dict[str, float] = defaultdict(float)
    nodes = graph.nodes
    for op, start_ns, end_ns in zip(nodes.op, nodes.start_ns, nodes.end_ns, strict=True):
        if op not in ("", END, INPUT, TAKE):
            lengths[type_as_written(op)] += end_ns - start_ns
    return sorted(lengths, key=lambda op: (-lengths[op], op))[:MOST_NAMED]


@dataclass(frozen=True, slots=True)
class AverageReplica:
    """A replica's ops, delays and late start are as long as the mean of the other replicas'."""

    replica: int
    name: str = ""

    @property
    def title(self) -> str:
        return f"with {self.name or f'replica {self.replica}'} as fast as the others"

    def apply(self, graph: StepGraph, times: Times) -> None:
        own = graph.nodes.replica == self.replica
        others = (graph.nodes.replica >= 0) & ~own
        if not own.any() or not others.any():
            raise ReplayError(
                f"Replica {self.replica} has no other replica to compare with in the recorded steps"
            )
        if graph.phases_ns:
            _to_mean_phases(graph, times.work_ns, self.replica)
            return
        to_mean_of(graph, times.work_ns, own, others)
        gaps, entries = times.gap_ns, graph.nodes.launch == ENTRY
        if (entries & own).any() and (entries & others).any():
            gaps[entries & own] = min(gaps[entries & others].mean(), gaps[entries & own].mean())


def to_mean_of(graph: StepGraph, work_ns: Floats, own: Bools, others: Bools) -> None:
    """Scale the work of `own`, by type of op, to the mean of the replicas of `others`."""
    nodes = graph.nodes
    kinds = np.array(nodes.op, dtype=object)
    num_others = max(len(set(nodes.replica[others].tolist())), 1)
    work = of_category(graph, _OF_REPLICA)
    totals: dict[str, float] = defaultdict(float)
    for at in np.flatnonzero(others & work).tolist():
        totals[nodes.op[at]] += work_ns[at] / num_others
    for kind in {nodes.op[at] for at in np.flatnonzero(own & work).tolist()}:
        chosen = own & work & (kinds == kind)
        total = float(work_ns[chosen].sum())
        if total > 0:
            work_ns[chosen] *= totals.get(kind, 0.0) / total


def _to_mean_phases(graph: StepGraph, work_ns: Floats, replica: int) -> None:
    """Scale what a replica does until its gradients are there to the mean of the others.

    Ops of the other processes are not recorded, and the ops of one replica overlap, so phases are
    compared, not ops.
    """
    own = graph.nodes.replica == replica
    others = [each for number, each in graph.phases_ns.items() if number != replica]
    for phase, length_ns in graph.phases_ns[replica].items():
        if length_ns > 0:
            mean_ns = float(np.mean([each[phase] for each in others]))
            work_ns[own & of_category(graph, _PHASES[phase])] *= mean_ns / length_ns


def as_the_recorded(graph: StepGraph, times: Times, before_ns: Floats) -> None:
    """Change the computing of replicas without recorded ops in the ratio of the recorded ops."""
    computes = of_category(graph, ("compute", "other"))
    recorded = computes & ~graph.is_timed
    total_ns = float(before_ns[recorded].sum())
    if total_ns > 0:
        ratio = float(times.work_ns[recorded].sum()) / total_ns
        chosen = computes & graph.is_timed
        times.work_ns[chosen] = before_ns[chosen] * ratio


def of_category(graph: StepGraph, wanted: tuple[str, ...]) -> Bools:
    """Return which nodes are of these categories."""
    return np.array([category in wanted for category in graph.nodes.category])
