"""What is each replica's step made of, and which replica do the others wait for?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategy_profiles.analysis.breakdown import (
    NOT_CAPTURED,
    ReplicaBreakdown,
    StepBreakdown,
    shown_phases,
)
from strategy_profiles.analysis.captured_steps import length_of_steps
from strategy_profiles.analysis.efficiency import Efficiency, efficiency
from strategy_profiles.analysis.facts import Facts
from strategy_profiles.analysis.stragglers import Stragglers
from strategy_profiles.answers.answer import Answer, Bars, Column, Missing, Part, Table, table
from strategy_profiles.reporting import units
from strategy_profiles.reporting.device_names import short_names
from strategy_profiles.tables.store import Profile

KEY = "breakdown"
TITLE = "Step time of each replica"
FORMULAS = ("parallel_efficiency", "slowest", "slowdown")
_SOURCES = {
    "measured": "Measured by full captures",
    "marks": "Measured by in-graph timestamps on every step",
}
_DERIVED_STEPS = "Measured by a capture, whose steps are derived"
_LATE = (
    Column("name", "Replica", "name"),
    Column("late_ms", "Late by", "ms", "slowest"),
    Column("last_share", "Last to arrive", "share", "Share of the steps."),
    Column(
        "slowdown",
        "Slowdown",
        "number",
        "How much longer the run takes because this replica alone is as slow as it is.",
    ),
)


def breakdown(_profile: Profile, facts: Facts) -> Answer:
    """Return the answer for a segment: the phases of each replica, and how late each is."""
    measured = facts.breakdown
    if measured.source is None:
        return Answer(KEY, parts=(Missing(KEY, TITLE, measured.reason or "not recorded"),))
    phases = shown_phases(measured.replicas)
    return Answer(
        KEY,
        parts=(_bars(facts, phases), *_late(facts.stragglers)),
        notes=(_efficient(efficiency(measured)), _typical(facts.stragglers)),
        formulas=(*phases, *FORMULAS),
    )


def _bars(facts: Facts, phases: Sequence[str]) -> Part:
    measured = facts.breakdown
    return Bars(
        KEY,
        TITLE,
        tuple(_names(measured.replicas)),
        {phase: tuple(item.phase_ms(phase) for item in measured.replicas) for phase in phases},
        "ms per step",
        wholes=tuple(item.wall_ms for item in measured.replicas),
        definition="replica_time",
        notes=tuple(_notes(measured, facts.steps.median_ms)),
    )


def _names(replicas: Sequence[ReplicaBreakdown]) -> Iterator[str]:
    """`replica 0, CPU:0`."""
    short = short_names(replica.device or "" for replica in replicas)
    for replica in replicas:
        yield f"replica {replica.replica}, {short[replica.device or '']}".rstrip(", ")


def _notes(measured: StepBreakdown, median_ms: float | None) -> Iterator[str]:
    source = _DERIVED_STEPS if measured.has_derived_steps else _SOURCES[measured.source or "marks"]
    yield f"{source}; means over {units.counted(measured.replicas[0].num_steps, 'step')}."
    if measured.from_marks:
        which = ", ".join(map(str, measured.from_marks))
        yield (
            "From in-graph timestamps of the same steps, because it was not captured: replica "
            f"{which}."
        )
    if measured.reason:
        yield f"Not all is known: {measured.reason}."
    if measured.undivided:
        which = ", ".join(map(str, measured.undivided))
        has_waits = all(
            item.input_ms is not None
            for item in measured.replicas
            if item.replica in measured.undivided
        )
        known = "the wait for the batch is known" if has_waits else "the length of steps is known"
        yield f"Only {known} of replica {which}, because {NOT_CAPTURED}."
    yield from length_of_steps(measured, median_ms)


def _late(lateness: Stragglers) -> Iterator[Table]:
    """How late each replica is, if they are several."""
    if lateness.replicas:
        yield table(
            "late",
            "How late each replica is",
            lateness.replicas,
            _LATE,
            source=lateness.source,
            is_minor=True,
        )


def _efficient(factors: Efficiency) -> str:
    if factors.parallel is None:
        return f"Parallel efficiency: unavailable, {factors.reason}."
    balance, moving, rest = map(
        units.share, (factors.load_balance, factors.communication, factors.orchestration)
    )
    return (
        f"Parallel efficiency {units.share(factors.parallel)} = load balance {balance} × "
        f"communication {moving} × orchestration {rest}."
    )


def _typical(lateness: Stragglers) -> str:
    """How long the run would take with only typical replicas."""
    if lateness.slowdown is None or lateness.replay_error is None:
        return f"Time with only typical replicas: unavailable, {lateness.why_no_what_if}."
    worst = lateness.straggler
    alone = f" Replica {worst.replica} alone: {worst.slowdown:.2f} times." if worst else ""
    return (
        f"With every replica like the typical one, the run would be {lateness.slowdown:.2f} times "
        f"as fast.{alone} Error of this estimate {units.share(lateness.replay_error)}."
    )
