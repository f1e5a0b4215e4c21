"""Bytes between devices: a matrix, and every tensor that was sent."""

from __future__ import annotations

from strategy_lab.profiles.analysis.communication import Traffic
from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.analysis.sends import sends
from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import Cell, bar, cut, name, note, quantity, table
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.device_names import in_order

MAX_SENDS = 40


def traffic(facts: RunFacts, item: Facts) -> Markup:
    """Return the tables of one segment, or a note that nothing was sent."""
    found = item.communication.traffic
    if not found:
        return note("No tensor was sent from one device to another.")
    return join(_matrix(facts, found), _sends(facts, item))


def _matrix(facts: RunFacts, found: tuple[Traffic, ...]) -> Markup:
    """Return one matrix of measured sends and one of modelled collectives; rows send."""
    parts = []
    for source, title in (
        ("measured", "Sent from device to device, bytes per step (outside collectives)"),
        ("ring model", "Share of the collectives if each runs as a ring, bytes per step"),
    ):
        pairs = {(t.send_device, t.recv_device): t for t in found if t.source == source}
        if pairs:
            kind = "derived" if source == "ring model" else source
            parts.append(_matrix_of(facts, pairs, title, kind))
    return join(*parts)


def _matrix_of(
    facts: RunFacts, pairs: dict[tuple[str, str], Traffic], title: str, source: str
) -> Markup:
    devices = in_order({device for pair in pairs for device in pair})
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
    return Cell(join(text, bar([("transfer", amount, hint)], most)), item.bytes, "num heat")


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
    content = table(f"Tensors sent from device to device{cut(len(found), MAX_SENDS)}", heads, rows)
    return tag("details", tag("summary", f"{len(found)} tensors sent"), content)
