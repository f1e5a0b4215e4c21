"""What does the difference between replicas cost? S, S_t of each kind of op, S_w of each replica.

After Lin et al., "Understanding Stragglers in Large Model Training Using What-if Analysis" (2025),
with replicas as their workers: in an ideal step, the ops of a type take the mean of the replicas,
delays and transfers the median. `S = T / T_ideal`; `S_t = T_(ideal but for ops of type t) /
T_ideal`; `S_w = T_(ideal but for replica w) / T_ideal`. T is the replayed step, not the measured.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from strategy_profiles.step_graph.graph import HOST_GAP, StepGraph
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.replays import Replay, Replays
from strategy_replay.engine.simulate import simulate

Factors = dict[tuple[str, int], tuple[list[int], float]]
_WORK = ("compute", "input", "other", "delay", "collective", "transfer")
_BY_MEDIAN = ("delay", "collective", "transfer")
LEAST = 1.005
"""A smaller S_t or S_w is left out: the kind or replica is as the others."""


@dataclass(frozen=True, slots=True)
class Slowdowns:
    """Medians over the replayed steps."""

    whole: float
    """S"""
    by_op: dict[str, float]
    """S_t, the largest first; those below `LEAST` left out."""
    by_replica: dict[int, float]
    """S_w"""


def slowdowns(known: Replays) -> Slowdowns:
    """Return S, S_t and S_w. A segment of one replica has S = 1.

    Raises ReplayError if the ops of a worker are not recorded.
    """
    steps = known.steps
    if any(step.graph.timed for step in steps):
        raise ReplayError(
            "What differences between replicas cost by type of op is not known: the ops of the "
            "other workers are not recorded",
            advice="Use --without-straggler, or record the same replicas in one process (mirrored)",
        )
    factors = [_factors(step.graph, step.work_ns) for step in steps]
    ops = sorted({op for each in factors for op, _ in each})
    replicas = sorted({int(each) for step in steps for each in step.graph.nodes.replica} - {-1})
    whole: list[float] = []
    by_op: dict[str, list[float]] = defaultdict(list)
    by_replica: dict[int, list[float]] = defaultdict(list)
    for step, known_factors in zip(steps, factors, strict=True):
        ideal = _ideal_ns(step, known_factors)
        whole.append(step.schedule.length_ns / ideal)
        for op in ops:
            by_op[op].append(_ideal_ns(step, known_factors, but_for_op=op) / ideal)
        for replica in replicas:
            length_ns = _ideal_ns(step, known_factors, but_for_replica=replica)
            by_replica[replica].append(length_ns / ideal)
    medians = {name: float(np.median(values)) for name, values in by_op.items()}
    noticed = sorted(medians.items(), key=lambda item: -item[1])
    return Slowdowns(
        float(np.median(whole)),
        {name: value for name, value in noticed if value >= LEAST},
        {number: float(np.median(values)) for number, values in by_replica.items()},
    )


def _ideal_ns(
    step: Replay,
    factors: Factors,
    but_for_op: str | None = None,
    but_for_replica: int | None = None,
) -> float:
    """Return the length of a step in which replicas take as long for the ops of a type as the usual
    one, but for one type or one replica, which stays as it is."""
    work_ns = step.work_ns.copy()
    for (op, replica), (places, factor) in factors.items():
        if op != but_for_op and replica != but_for_replica:
            work_ns[places] *= factor
    return simulate(step.graph, work_ns, step.gap_ns, step.cores).length_ns


def _factors(graph: StepGraph, work_ns: Floats) -> Factors:
    """By type of op and replica its nodes, and the factor that makes them ideal."""
    nodes = graph.nodes
    places: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    by_median = set()
    for at, (op, category) in enumerate(zip(nodes.op, nodes.category, strict=True)):
        replica = int(nodes.replica[at])
        if category in _WORK and replica >= 0 and nodes.launch[at] != HOST_GAP:
            places[op][replica].append(at)
            if category in _BY_MEDIAN:
                by_median.add(op)
    num_replicas = len({int(each) for each in nodes.replica if each >= 0})
    factors = {}
    for op, of_replica in places.items():
        totals = {replica: float(work_ns[at].sum()) for replica, at in of_replica.items()}
        every = [*totals.values(), *[0.0] * (num_replicas - len(totals))]
        usual = float(np.median(every) if op in by_median else np.mean(every))
        for replica, chosen in of_replica.items():
            if totals[replica] > 0:
                factors[op, replica] = (chosen, usual / totals[replica])
    return factors
