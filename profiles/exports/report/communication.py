"""What the replicas sent each other: collectives, their bandwidth, and who sent to whom."""

from __future__ import annotations

from profiles import units
from profiles.analysis.collective_calls import collective_calls
from profiles.analysis.communication import CollectiveUse, Traffic
from profiles.analysis.findings import Facts
from profiles.analysis.overlap import Overlap, overlaps
from profiles.analysis.sends import sends
from profiles.exports.report.facts import RunFacts, title_of
from profiles.exports.report.markup import Markup, join, tag
from profiles.exports.report.section import (
    Cell,
    Section,
    bar,
    formulas,
    name,
    note,
    quantity,
    source_mark,
    table,
)

MAX_CALLS = 12
MAX_SENDS = 40
_TERMS = ("traffic", "algbw", "busbw", "overlap", "exposed", "transfer_bytes", "ring_share")


def communication(facts: RunFacts) -> Section | None:
    """None for a run without a segment."""
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
        return note(f"Unavailable: {found.reason}.")
    parts: list[Markup | None] = [note(f"Unknown: {found.reason}.") if found.reason else None]
    if found.collectives:
        parts += [_collectives(found.collectives), _calls(facts, item)]
    else:
        parts.append(note("No collective ran in the captured steps."))
    parts.append(_overlap(facts, item))
    if found.traffic:
        parts.append(_matrix(facts, found.traffic))
        parts.append(_sends(facts, item))
    else:
        parts.append(note("Nothing was sent from one device to another."))
    return join(*parts)


def _collectives(uses: tuple[CollectiveUse, ...]) -> Markup:
    rows = [
        (
            use.op,
            _count(use.group_size),
            quantity(units.number(use.per_step), use.per_step),
            quantity(units.size(use.bytes), use.bytes),
            _per_call(use.wait_ms, use),
            _per_call(use.transfer_ms, use),
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
    return table("Collectives by kind; GB/s are 10^9 bytes per second", heads, rows)


def _calls(facts: RunFacts, item: Facts) -> Markup | None:
    """Each collective op by itself, with its bus bandwidth as a bar: small calls are slow ones."""
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
    return table(f"Every collective by itself{_cut(len(calls), MAX_CALLS)}", heads, rows)


def _bandwidth_bar(busbw_gbps: float | None, best: float) -> Markup:
    return bar([("transfer", busbw_gbps or 0.0, units.bandwidth(busbw_gbps))], best)


def _overlap(facts: RunFacts, item: Facts) -> Markup | None:
    """How much of each replica's communication hides behind its own compute."""
    found = overlaps(facts.profile, item.segment.segment)
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


def _sends(facts: RunFacts, item: Facts) -> Markup:
    found = sends(facts.profile, item.segment.segment)
    rows = [
        (
            name(send.tensor),
            facts.device(send.send_device),
            facts.device(send.recv_device),
            quantity(units.number(send.per_step), send.per_step),
            quantity(units.size(send.bytes), send.bytes),
            quantity(units.milliseconds(send.duration_ms), send.duration_ms),
        )
        for send in found[:MAX_SENDS]
    ]
    heads = ("Tensor", "From", "To", "Sends/step", "Bytes of one", "Send to receipt")
    content = table(f"Tensors sent from device to device{_cut(len(found), MAX_SENDS)}", heads, rows)
    return tag("details", tag("summary", f"{len(found)} tensors sent"), content)


def _cut(count: int, most: int) -> str:
    return f": the {most} largest of {count}" if count > most else ""


def _per_call(total_ms: float | None, use: CollectiveUse) -> Cell:
    """Calls of a step may wait side by side: their sum would mean nothing."""
    value = None if total_ms is None or not use.per_step else total_ms / use.per_step
    return quantity(units.milliseconds(value), value)


def _matrix(facts: RunFacts, traffic: tuple[Traffic, ...]) -> Markup:
    """Rows send, columns receive; measured sends and modelled shares of collectives apart."""
    parts = []
    for source, title in (
        ("measured", "Sent from device to device, bytes per step (outside collectives)"),
        ("ring model", "Share of the collectives if each runs as a ring, bytes per step"),
    ):
        pairs = {(t.send_device, t.recv_device): t for t in traffic if t.source == source}
        if pairs:
            kind = "derived" if source == "ring model" else source
            parts.append(_matrix_of(facts, pairs, title, kind))
    return join(*parts)


def _matrix_of(
    facts: RunFacts, pairs: dict[tuple[str, str], Traffic], title: str, source: str
) -> Markup:
    devices = sorted({device for pair in pairs for device in pair})
    most = max((item.bytes or 0.0 for item in pairs.values()), default=0.0)
    rows = [
        [name(facts.device(send)), *(_sent(pairs.get((send, recv)), most) for recv in devices)]
        for send in devices
    ]
    return table(title, ["from ↓ to →", *map(facts.device, devices)], rows, source=source)


def _sent(item: Traffic | None, most: float) -> Cell:
    if item is None:
        return Cell("", None, "num heat")
    amount = item.bytes or 0.0
    calls = f", {units.number(item.num_transfers)} sends" if item.num_transfers else ""
    text = units.size(item.bytes)
    hint = f"{text} per step{calls}"
    return Cell(join(text, bar([("transfer", amount, hint)], most)), amount, "num heat")


def _count(value: int | None) -> Cell:
    return quantity(units.MISSING if value is None else str(value), value)
