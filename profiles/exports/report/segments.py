"""A table that compares the segments: the change and the effect of each live reconfiguration."""

from __future__ import annotations

from strategy_lab.profiles.analysis.efficiency import scaling
from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup
from strategy_lab.profiles.exports.report.section import Cell, quantity, table
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.units import MISSING


def segment_table(facts: RunFacts) -> Markup:
    rows = [
        (
            quantity(str(item.segment.segment), item.segment.segment),
            f"{item.segment.strategy} ×{item.segment.num_replicas}",
            _batch(item.segment.global_batch_size),
            item.segment.cross_device_ops,
            quantity(f"{item.segment.first_step:,}", item.segment.first_step),
            quantity(f"{item.steps.count:,}", item.steps.count),
            quantity(units.milliseconds(item.steps.median_ms), item.steps.median_ms),
            quantity(units.number(item.steps.examples_per_second), item.steps.examples_per_second),
            _scaling(facts.segments[0], item),
            _carried(item),
        )
        for item in facts.segments
    ]
    heads = (
        "Segment",
        "Strategy",
        "Global batch",
        "Cross-device ops",
        "First step",
        "Steps",
        ("Step time", "step_time"),
        ("Examples/s", "throughput"),
        f"Scaling against {facts.segments[0].segment.segment}",
        "Training state",
    )
    return table("Each live reconfiguration starts a segment", heads, rows)


def _batch(size: int | None) -> Cell:
    return quantity(MISSING if size is None else f"{size:,}", size)


def _scaling(base: Facts, item: Facts) -> str:
    """Return the strong or weak scaling efficiency relative to the first segment."""
    found = scaling((base.segment, base.steps), (item.segment, item.steps))
    if item is base or found is None or found.base_replicas == found.num_replicas:
        return MISSING
    return f"{found.kind}, {units.share(found.efficiency)}"


def _carried(facts: Facts) -> Cell | str:
    """Return whether model and optimizer state were carried over exactly, by their checksums."""
    before, after = facts.segment.state_checksum_before, facts.segment.state_checksum_after
    if before is None or after is None:
        return MISSING
    how = f", {facts.segment.moved}" if facts.segment.moved else ""
    return f"carried over exactly{how}" if before == after else f"differs{how}"
