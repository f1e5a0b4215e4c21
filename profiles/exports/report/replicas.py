"""The phases of each replica's step, and each replica's compute over the steps."""

from __future__ import annotations

from collections.abc import Sequence

from strategy_lab.profiles.analysis.breakdown import ReplicaBreakdown, shown_phases
from strategy_lab.profiles.analysis.efficiency import efficiency
from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.exports.report.drift import drift
from strategy_lab.profiles.exports.report.facts import RunFacts, title_of
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import (
    Cell,
    Head,
    Section,
    bar,
    chart,
    formulas,
    legend,
    note,
    quantity,
    table,
)
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.palette import phase_name


def replicas(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without a segment."""
    if not facts.segments:
        return None
    parts: list[Markup | None] = []
    several = len(facts.segments) > 1
    for item in facts.segments:
        parts.append(tag("h3", title_of(item.segment)) if several else None)
        parts.append(_breakdown(facts, item))
    if any(item.breakdown.replicas and not item.breakdown.reason for item in facts.segments):
        phases = shown_phases([row for item in facts.segments for row in item.breakdown.replicas])
        parts.insert(0, legend((phase, phase_name(phase)) for phase in phases))
        parts.append(formulas(*phases, "parallel_efficiency", "slowest", "slowdown"))
    band = drift(facts)
    if band:
        parts += [
            tag("h3", "Compute of each replica, step by step"),
            chart("drift", "Compute time of the replicas over steps", height=260),
            note(band.pop("note")),
        ]
    charts = {"drift": band} if band else {}
    return Section("replicas", "Step time of each replica", join(*parts), charts)


def _breakdown(facts: RunFacts, item: Facts) -> Markup:
    split = item.breakdown
    if split.reason:
        return note(f"Unavailable: {split.reason}.")
    whole = max(replica.wall_ms or 0.0 for replica in split.replicas)
    shown = shown_phases(split.replicas)
    rows = [_row(facts, item, replica, whole, shown) for replica in split.replicas]
    phases: list[Head] = [(f"{phase_name(phase)} ms", phase) for phase in shown]
    heads = ["Replica", "Device", "Mean step", "step ms", *phases, ("late by ms", "slowest")]
    steps = max(replica.num_steps for replica in split.replicas)
    caption = f"Means over {steps:,} steps, in milliseconds"
    return join(table(caption, heads, rows, source=split.source), _efficiency(item), _what_if(item))


def _row(
    facts: RunFacts,
    item: Facts,
    replica: ReplicaBreakdown,
    whole: float,
    phases: Sequence[str],
) -> list[Cell]:
    worst = item.stragglers.straggler
    is_worst = worst is not None and worst.replica == replica.replica
    label = f"{replica.replica} ◂ late" if is_worst else str(replica.replica)
    late = {other.replica: other.late_ms for other in item.stragglers.replicas}
    lengths = [replica.phase_ms(key) for key in ("wall", *phases)]
    return [
        Cell(label, replica.replica, "short"),
        Cell(facts.device(replica.device), None, "name"),
        Cell(_phases(replica, whole, phases), None, "wide"),
        *(quantity(units.number(value), value) for value in (*lengths, late.get(replica.replica))),
    ]


def _phases(replica: ReplicaBreakdown, whole: float, phases: Sequence[str]) -> Markup:
    parts = [
        (phase, value, f"{phase_name(phase)} {units.milliseconds(value)}")
        for phase in phases
        if (value := replica.phase_ms(phase)) is not None
    ]
    return bar(parts, whole)


def _efficiency(item: Facts) -> Markup:
    found = efficiency(item.breakdown)
    if found.parallel is None:
        return note(f"Parallel efficiency: unavailable, {found.reason}.")
    return note(
        f"Parallel efficiency {units.share(found.parallel)} = load balance "
        f"{units.share(found.load_balance)} × communication efficiency "
        f"{units.share(found.communication)}."
    )


def _what_if(item: Facts) -> Markup:
    found = item.stragglers
    if found.slowdown is None or found.replay_error is None:
        return note(f"Time with only typical replicas: unavailable, {found.why_no_what_if}.")
    worst = found.straggler
    alone = f" Replica {worst.replica} alone: {worst.slowdown:.2f} times." if worst else ""
    return note(
        f"With every replica like the typical one, the run would be {found.slowdown:.2f} times as "
        f"fast.{alone} Replay error {units.share(found.replay_error)}."
    )
