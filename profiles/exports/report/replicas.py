"""Where each replica's step went, and how the replicas drift apart over the steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from profiles import units
from profiles.analysis.breakdown import ReplicaBreakdown
from profiles.analysis.columns import Floats, Ints, floats, ints, of_segment
from profiles.analysis.efficiency import efficiency
from profiles.analysis.findings import Facts
from profiles.exports.report.envelope import series
from profiles.exports.report.facts import RunFacts, title_of
from profiles.exports.report.markup import Markup, join, tag
from profiles.exports.report.section import (
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
from profiles.exports.report.steps import segment_marks
from profiles.palette import replica_colour
from profiles.schema import CATEGORIES

FEW_REPLICAS = 4
"""Up to so many replicas have a line each; more are a band with the odd one out."""
BAND_POINTS = 600


def replicas(facts: RunFacts) -> Section | None:
    """None for a run without a segment."""
    if not facts.segments:
        return None
    parts: list[Markup | None] = []
    several = len(facts.segments) > 1
    for item in facts.segments:
        parts.append(tag("h3", title_of(item.segment)) if several else None)
        parts.append(_breakdown(facts, item))
    if any(item.breakdown.replicas and not item.breakdown.reason for item in facts.segments):
        parts.insert(0, legend((phase, phase) for phase in CATEGORIES))
        parts.append(formulas(*CATEGORIES, "parallel_efficiency", "slowest", "slowdown"))
    band = _drift(facts)
    if band:
        parts += [
            tag("h3", "Compute of each replica, step by step"),
            chart("drift", "Compute time of the replicas over steps", height=260),
            note(band.pop("note")),
        ]
    charts = {"drift": band} if band else {}
    return Section("replicas", "Where a replica's step went", join(*parts), charts)


def _breakdown(facts: RunFacts, item: Facts) -> Markup:
    split = item.breakdown
    if split.reason:
        return note(f"Unavailable: {split.reason}.")
    whole = max(replica.wall_ms or 0.0 for replica in split.replicas)
    rows = [_row(facts, item, replica, whole) for replica in split.replicas]
    phases: list[Head] = [(f"{phase} ms", phase) for phase in CATEGORIES]
    heads = ["Replica", "Device", "Mean step", "step ms", *phases, ("late by ms", "slowest")]
    steps = max(replica.num_steps for replica in split.replicas)
    caption = f"Means over {steps:,} steps, in milliseconds"
    return join(table(caption, heads, rows, source=split.source), _efficiency(item), _what_if(item))


def _row(facts: RunFacts, item: Facts, replica: ReplicaBreakdown, whole: float) -> list[Cell]:
    worst = item.stragglers.straggler
    is_worst = worst is not None and worst.replica == replica.replica
    label = f"{replica.replica} ◂ late" if is_worst else str(replica.replica)
    late = {other.replica: other.late_ms for other in item.stragglers.replicas}
    lengths = [replica.phase_ms(key) for key in ("wall", *CATEGORIES)]
    return [
        Cell(label, replica.replica, "short"),
        Cell(facts.device(replica.device), None, "name"),
        Cell(_phases(replica, whole), None, "wide"),
        *(quantity(units.number(value), value) for value in (*lengths, late.get(replica.replica))),
    ]


def _phases(replica: ReplicaBreakdown, whole: float) -> Markup:
    parts = [
        (phase, value, f"{phase} {units.milliseconds(value)}")
        for phase in CATEGORIES
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
        return note(f"What if every replica were typical? Unavailable: {found.reason}.")
    worst = found.straggler
    alone = f" Replica {worst.replica} alone: {worst.slowdown:.2f} times." if worst else ""
    return note(
        f"With every replica like the typical one, the run would be {found.slowdown:.2f} times as "
        f"fast.{alone} Replay error {units.share(found.replay_error)}."
    )


def _drift(facts: RunFacts) -> dict[str, Any] | None:
    """Compute per replica and step: marks where a segment has them, captures where not."""
    timed = [item for item in facts.segments if item.steps.count]
    parts = [_matrix(facts, item) for item in timed]
    parts = [part for part in parts if part[1].size]
    if not parts:
        return None
    most = max(values.shape[1] for _, values in parts)
    if most < 2:
        return None
    budget = max(BAND_POINTS // len(parts), 20)
    short = [_shortened(number, values, budget) for number, values in parts]
    lines = _lines(short, most) if most <= FEW_REPLICAS else _band(short, facts)
    size = max(-(-len(number) // budget) for number, _ in parts)
    about = f"Each point is the median of up to {size} steps. " if size > 1 else ""
    if most > FEW_REPLICAS:
        about += "The band reaches from the quickest to the slowest replica that keeps together."
    return {
        "x_label": "step",
        "y_label": "compute, ms",
        "unit": "ms",
        "from_zero": True,
        "names_marks": True,
        "marks": segment_marks(timed),
        "series": lines,
        "note": about or "Every step with per-replica times is a point.",
    }


def _matrix(facts: RunFacts, item: Facts) -> tuple[Ints, Floats]:
    """Steps, and `[step, replica]` compute in ms; NaN where unknown, tracing steps left out."""
    number = item.segment.segment
    rows = of_segment(facts.profile.table("marks"), number)
    if not rows.num_rows:
        rows = of_segment(facts.profile.table("replica_steps"), number)
    steps, row = np.unique(ints(rows, "step"), return_inverse=True)
    replica = ints(rows, "replica")
    values = np.full((len(steps), int(replica.max(initial=-1)) + 1), np.nan)
    values[row[replica >= 0], replica[replica >= 0]] = floats(rows, "compute_ms")[replica >= 0]
    timed = steps >= item.segment.first_step + item.steps.num_warm_up
    return steps[timed], values[timed]


def _shortened(number: Ints, values: Floats, budget: int) -> tuple[Ints, Floats]:
    """At most `budget` rows: the median of each stretch of steps, replica by replica."""
    size = -(-len(number) // budget)
    if size <= 1:
        return number, values
    starts = range(0, len(number), size)
    with np.errstate(all="ignore"):
        medians = [np.nanmedian(values[start : start + size], axis=0) for start in starts]
    return number[::size], np.stack(medians)


def _lines(parts: list[tuple[Ints, Floats]], most: int) -> list[dict[str, Any]]:
    return [
        {
            "label": f"replica {replica}",
            "colour": replica_colour(replica),
            **_joined([(n, v[:, replica]) for n, v in parts if v.shape[1] > replica]),
        }
        for replica in range(most)
    ]


def _band(parts: list[tuple[Ints, Floats]], facts: RunFacts) -> list[dict[str, Any]]:
    """Median and band of the replicas that keep together, and a line for each that stands out."""
    found = [item.stragglers.straggler for item in facts.segments]
    odd = sorted({straggler.replica for straggler in found if straggler})
    usual = [(n, np.delete(v, [r for r in odd if r < v.shape[1]], axis=1)) for n, v in parts]
    middle = _joined([(n, np.nanmedian(v, axis=1)) for n, v in usual])
    middle["low"] = _joined([(n, np.nanmin(v, axis=1)) for n, v in usual])["y"]
    middle["high"] = _joined([(n, np.nanmax(v, axis=1)) for n, v in usual])["y"]
    label = "median of the others" if odd else "median of the replicas"
    lines = [{"label": label, "colour_name": "quiet", **middle}]
    for replica in odd:
        own = [(n, v[:, replica]) for n, v in parts if v.shape[1] > replica]
        colour = replica_colour(replica)
        lines.append({"label": f"replica {replica}", "colour": colour, "width": 2, **_joined(own)})
    return lines


def _joined(parts: list[tuple[Ints, Floats]]) -> dict[str, Any]:
    return series(np.concatenate([n for n, _ in parts]), np.concatenate([v for _, v in parts]))
