"""Step time of each core, for a TPU program whose replicas have several."""

from __future__ import annotations

from strategy_lab.profiles.analysis.cores import Core, cores
from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.exports.report.facts import RunFacts, title_of
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import (
    Cell,
    Head,
    Section,
    bar,
    legend,
    note,
    quantity,
    table,
)
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.palette import phase_name
from strategy_lab.profiles.tables.schema import CATEGORIES


def core_times(facts: RunFacts) -> Section | None:
    """Return the section, or None if no segment has cores."""
    with_cores = [item for item in facts.segments if item.segment.core_devices]
    if not with_cores:
        return None
    parts: list[Markup | None] = [legend((phase, phase_name(phase)) for phase in CATEGORIES)]
    for item in with_cores:
        parts.append(tag("h3", title_of(item.segment)) if len(with_cores) > 1 else None)
        parts.append(_segment(facts, item))
    return Section("cores", "Step time of each core", join(*parts))


def _segment(facts: RunFacts, item: Facts) -> Markup:
    found = cores(facts.profile, item.segment)
    timed = [core for core in found.cores if core.split]
    if not timed:
        return note("Unavailable: the segment has no captured step.")
    whole = max(core.phase_ms("wall") or 0.0 for core in timed)
    phases: list[Head] = [(f"{phase_name(phase)} ms", phase) for phase in CATEGORIES]
    heads = ["Replica", "Core", "Device", "Mean step", "step ms", *phases, "Sent", "Received"]
    steps = max(core.split.num_steps for core in timed if core.split)
    return table(
        f"Means over {steps:,} steps, in milliseconds; bytes per step are derived",
        heads,
        [_row(facts, core, whole) for core in timed],
        source="measured",
    )


def _row(facts: RunFacts, core: Core, whole: float) -> list[Cell]:
    lengths = [core.phase_ms(key) for key in ("wall", *CATEGORIES)]
    parts = [
        (phase, value, f"{phase_name(phase)} {units.milliseconds(value)}")
        for phase in CATEGORIES
        if (value := core.phase_ms(phase)) is not None
    ]
    return [
        Cell(str(core.replica), core.replica, "short"),
        Cell(str(core.core), core.core, "short"),
        Cell(facts.device(core.device), None, "name"),
        Cell(bar(parts, whole), None, "wide"),
        *(quantity(units.number(value), value) for value in lengths),
        *(quantity(units.size(size), size) for size in (core.sent_bytes, core.received_bytes)),
    ]
