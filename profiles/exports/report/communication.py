"""Communication of the replicas: collectives, their bandwidth, and sends between devices."""

from __future__ import annotations

from strategy_lab.profiles.analysis.collective_calls import collective_calls
from strategy_lab.profiles.analysis.communication import CollectiveUse
from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.analysis.overlap import Overlap
from strategy_lab.profiles.exports.report.facts import RunFacts, title_of
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.process_links import process_links
from strategy_lab.profiles.exports.report.section import (
    Cell,
    Section,
    bar,
    cut,
    formulas,
    name,
    note,
    quantity,
    source_mark,
    table,
)
from strategy_lab.profiles.exports.report.traffic import traffic
from strategy_lab.profiles.reporting import units

MAX_CALLS = 12
_TERMS = ("traffic", "algbw", "busbw", "overlap", "exposed", "transfer_bytes", "ring_share")


def communication(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without a segment."""
    if not facts.segments:
        return None
    parts: list[Markup | None] = []
    for item in facts.segments:
        parts.append(tag("h3", title_of(item.segment)) if len(facts.segments) > 1 else None)
        parts.append(_segment(facts, item))
    if any(item.communication.num_steps for item in facts.segments):
        parts.append(formulas(*_TERMS))
    return Section("communication", "Communication", join(*parts))


def _segment(facts: RunFacts, item: Facts) -> Markup:
    found = item.communication
    if not found.num_steps:
        return join(note(f"Unavailable: {found.reason}."), process_links(facts, item))
    parts: list[Markup | None] = [note(f"Unknown: {found.reason}.") if found.reason else None]
    if found.collectives:
        parts += [_collectives(found.collectives), _calls(facts, item)]
    else:
        parts.append(note("No collective ran in the captured steps."))
    parts.append(_overlap(item))
    parts.append(traffic(facts, item))
    parts.append(process_links(facts, item))
    return join(*parts)


def _collectives(uses: tuple[CollectiveUse, ...]) -> Markup:
    rows = [
        (
            use.op,
            _count(use.group_size),
            quantity(units.number(use.per_step), use.per_step),
            quantity(units.size(use.bytes), use.bytes),
            quantity(units.milliseconds(use.call_wait_ms), use.call_wait_ms),
            quantity(units.milliseconds(use.call_transfer_ms), use.call_transfer_ms),
            quantity(units.bandwidth(use.algbw_gbps), use.algbw_gbps),
            quantity(units.bandwidth(use.busbw_gbps), use.busbw_gbps),
            Cell(source_mark(use.source) or units.MISSING),
        )
        for use in uses
    ]
    heads = (
        "Collective",
        "Group",
        "Calls/step",
        ("Bytes/step", "traffic"),
        ("Wait/call", "wait"),
        ("Transfer/call", "transfer"),
        ("algbw", "algbw"),
        ("busbw", "busbw"),
        "Times",
    )
    return table("Collectives by kind; 1 GB/s is 10^9 bytes a second", heads, rows)


def _calls(facts: RunFacts, item: Facts) -> Markup | None:
    """List each collective op with its bus bandwidth as a bar: small calls have low bandwidth."""
    calls = collective_calls(facts.profile, item.segment.segment)
    best = max((call.busbw_gbps or 0.0 for call in calls), default=0.0)
    rows = [
        (
            name(call.name),
            call.op,
            quantity(units.number(call.per_step), call.per_step),
            quantity(units.size(call.bytes), call.bytes),
            quantity(units.milliseconds(call.wait_ms), call.wait_ms),
            quantity(units.milliseconds(call.transfer_ms), call.transfer_ms),
            quantity(units.bandwidth(call.busbw_gbps), call.busbw_gbps),
            Cell(_bandwidth_bar(call.busbw_gbps, best), None, "wide"),
        )
        for call in calls[:MAX_CALLS]
    ]
    heads = (
        "Op in the graph",
        "Collective",
        "Calls/step",
        "Size of a call",
        ("Wait/call", "wait"),
        ("Transfer/call", "transfer"),
        ("busbw", "busbw"),
        "Bus bandwidth",
    )
    return table(f"Every collective by itself{cut(len(calls), MAX_CALLS)}", heads, rows)


def _bandwidth_bar(busbw_gbps: float | None, best: float) -> Markup:
    return bar([("transfer", busbw_gbps or 0.0, units.bandwidth(busbw_gbps))], best)


def _overlap(item: Facts) -> Markup | None:
    """Show how much of each replica's communication overlaps with its own compute."""
    found = item.overlaps
    longest = max((replica.communication_ms for replica in found), default=0.0)
    if not longest:
        return None
    rows = [
        (
            Cell(str(replica.replica), replica.replica, "num"),
            quantity(units.milliseconds(replica.communication_ms), replica.communication_ms),
            quantity(units.milliseconds(replica.exposed_ms), replica.exposed_ms),
            quantity(units.share(replica.overlap), replica.overlap),
            Cell(_hidden_and_exposed(replica, longest), None, "wide"),
        )
        for replica in found
    ]
    heads = (
        "Replica",
        "Communication/step",
        ("Exposed", "exposed"),
        ("Overlap", "overlap"),
        "Exposed, then behind compute",
    )
    return table("Communication and waiting behind compute", heads, rows, source="measured")


def _hidden_and_exposed(replica: Overlap, longest: float) -> Markup:
    hidden = replica.communication_ms - replica.exposed_ms
    parts = [
        ("wait", replica.exposed_ms, f"exposed {units.milliseconds(replica.exposed_ms)}"),
        ("compute", hidden, f"behind compute {units.milliseconds(hidden)}"),
    ]
    return bar(parts, longest)


def _count(value: int | None) -> Cell:
    return quantity(units.MISSING if value is None else str(value), value)
