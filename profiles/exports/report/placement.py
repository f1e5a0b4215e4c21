"""Ops, variables and their bytes on each device."""

from __future__ import annotations

from strategy_lab.profiles.analysis.placement import Placement, placement
from strategy_lab.profiles.exports.report.facts import RunFacts, title_of
from strategy_lab.profiles.exports.report.markup import Markup, join, tag
from strategy_lab.profiles.exports.report.section import (
    Cell,
    Section,
    bar,
    cut,
    name,
    note,
    quantity,
    table,
)
from strategy_lab.profiles.reporting import units

MAX_VARIABLES = 150


def placements(facts: RunFacts) -> Section | None:
    """Return the section, or None for a run without a segment."""
    if not facts.segments:
        return None
    parts: list[Markup | None] = []
    for item in facts.segments:
        parts.append(tag("h3", title_of(item.segment)) if len(facts.segments) > 1 else None)
        found = placement(facts.profile, item.segment.segment)
        if found.reason:
            parts.append(note(f"Unavailable: {found.reason}."))
        else:
            parts += [_devices(facts, found), _variables(facts, found)]
    return Section("placement", "Placement", join(*parts))


def _devices(facts: RunFacts, found: Placement) -> Markup:
    most_ops = max(device.num_ops for device in found.devices)
    most_bytes = max(device.variable_bytes or 0.0 for device in found.devices)
    rows = []
    for device in found.devices:
        ops = f"{device.num_ops:,} ops"
        held = units.size(device.variable_bytes)
        rows.append(
            (
                name(facts.device(device.device)),
                quantity(f"{device.num_ops:,}", device.num_ops),
                Cell(bar([("series", device.num_ops, ops)], most_ops)),
                quantity(str(device.num_variables), device.num_variables),
                quantity(held, device.variable_bytes),
                Cell(bar([("series", device.variable_bytes or 0.0, held)], most_bytes)),
                name(", ".join(f"{op} {count}" for op, count in device.top_ops[:5])),
            )
        )
    heads = (
        "Device",
        "Ops",
        "Share of ops",
        "Variables",
        "Their bytes",
        "Share of bytes",
        "Most frequent ops",
    )
    return table("Ops and variables as the runtime placed them", heads, rows)


def _variables(facts: RunFacts, found: Placement) -> Markup | None:
    """List the largest variables with the size and the number of their copies."""
    if not found.variables:
        return None
    ordered = sorted(found.variables, key=lambda item: -(item.bytes_per_copy or 0.0))
    shown = [
        (
            name(item.name),
            item.kind,
            quantity(units.size(item.bytes_per_copy), item.bytes_per_copy),
            quantity(str(len(item.devices)), len(item.devices)),
            name(", ".join(map(facts.device, item.devices))),
        )
        for item in ordered[:MAX_VARIABLES]
    ]
    heads = ("Variable", "Kind", "Bytes per copy", "Copies", "Devices")
    content = table(f"Variables{cut(len(ordered), MAX_VARIABLES)}", heads, shown)
    return tag("details", tag("summary", f"{len(ordered)} variables"), content)
