"""What the replicas sent each other: collectives, their bandwidth, and who sent to whom."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from profiles import units
from profiles.analysis.columns import floats, ints, of_segment, texts
from profiles.analysis.communication import CollectiveUse, Traffic
from profiles.analysis.findings import Facts
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

MAX_SIZES = 40


def communication(facts: RunFacts) -> Section | None:
    """None for a run without a segment."""
    if not facts.segments:
        return None
    parts: list[Markup | None] = []
    for item in facts.segments:
        parts.append(tag("h3", title_of(item.segment)) if len(facts.segments) > 1 else None)
        parts.append(_segment(facts, item))
    if any(item.communication.num_steps for item in facts.segments):
        parts.append(formulas("traffic", "algbw", "busbw", "transfer_bytes", "ring_share"))
    return Section("communication", "Communication", join(*parts))


def _segment(facts: RunFacts, item: Facts) -> Markup:
    found = item.communication
    if not found.num_steps:
        return note(f"Unavailable: {found.reason}.")
    parts: list[Markup | None] = [note(f"Unknown: {found.reason}.") if found.reason else None]
    if found.collectives:
        parts += [_collectives(found.collectives), _bandwidths(facts, item)]
    else:
        parts.append(note("No collective ran in the captured steps."))
    if found.traffic:
        parts.append(_matrix(facts, found.traffic))
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
            quantity(units.milliseconds(use.wait_ms), use.wait_ms),
            quantity(units.milliseconds(use.transfer_ms), use.transfer_ms),
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
        ("Wait", "wait"),
        ("Transfer", "transfer"),
        ("algbw", "algbw"),
        ("busbw", "busbw"),
        "Times",
    )
    return table("Collectives, per step; GB/s are 10^9 bytes per second", heads, rows)


@dataclass(frozen=True, slots=True)
class SizeUse:
    """Calls of one collective at one size, over a segment's captured steps and replicas."""

    op: str
    bytes: float
    num_calls: float
    """Per step and replica."""
    busbw_gbps: float | None
    """Median over calls."""


def bandwidth_by_size(facts: RunFacts, item: Facts) -> list[SizeUse]:
    """Largest first. A ring needs bytes to be fast: small calls show their latency here."""
    rows = of_segment(facts.profile.table("collectives"), item.segment.segment)
    sizes, bandwidth = floats(rows, "bytes"), floats(rows, "busbw_gbps")
    groups: dict[tuple[str, float], list[int]] = defaultdict(list)
    for row, (op, size) in enumerate(zip(texts(rows, "op"), sizes.tolist(), strict=True)):
        if np.isfinite(size):
            groups[op or "unknown", size].append(row)
    members = len(np.unique(ints(rows, "replica"))) * item.communication.num_steps
    found = []
    for (op, size), calls in groups.items():
        known = bandwidth[calls][np.isfinite(bandwidth[calls])]
        median = float(np.median(known)) if known.size else None
        found.append(SizeUse(op, size, len(calls) / members, median))
    return sorted(found, key=lambda use: -use.bytes)


def _bandwidths(facts: RunFacts, item: Facts) -> Markup | None:
    uses = bandwidth_by_size(facts, item)
    best = max((use.busbw_gbps or 0.0 for use in uses), default=0.0)
    if not best:
        return None
    rows = [
        (
            quantity(units.size(use.bytes), use.bytes),
            use.op,
            quantity(units.number(use.num_calls), use.num_calls),
            quantity(units.bandwidth(use.busbw_gbps), use.busbw_gbps),
            Cell(_bandwidth_bar(use, best), None, "wide"),
        )
        for use in uses[:MAX_SIZES]
    ]
    heads = (
        "Size of a call",
        "Collective",
        "Calls/step",
        ("busbw, median", "busbw"),
        "Bus bandwidth",
    )
    more = f"; the largest {MAX_SIZES} of {len(uses)} sizes" if len(uses) > MAX_SIZES else ""
    return table(f"Bus bandwidth by the size of a call{more}", heads, rows)


def _bandwidth_bar(use: SizeUse, best: float) -> Markup:
    value = use.busbw_gbps or 0.0
    return bar([("transfer", value, units.bandwidth(use.busbw_gbps))], best)


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
