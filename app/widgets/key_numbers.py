"""The key numbers of a segment as tiles: the step time largest; a missing one says why."""

from __future__ import annotations

from strategy_lab.app.widgets.opened import OpenRun
from strategy_lab.app.widgets.tiles import Source, Tile, show_tiles, split_unit
from strategy_lab.profiles.analysis.efficiency import efficiency
from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.analysis.overlap import Overlap, overlaps
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.definitions import DEFINITIONS

NO_SPANS = "needs a capture window"


def show_key_numbers(opened: OpenRun, facts: Facts) -> None:
    """Step time, throughput, efficiency, exposed communication, straggler, loss, recording."""
    hidden = opened.ask(overlaps, facts.segment.segment)
    tiles = [
        _step_time(facts),
        number(
            "throughput",
            units.rate(facts.steps.examples_per_second, "examples"),
            "derived",
            "no step recorded its examples",
        ),
        _efficiency(facts),
        exposed(facts, hidden),
        _straggler(facts),
        _loss(facts),
        number(
            "capture_overhead",
            _times(facts.capture.overhead_ratio),
            "derived",
            facts.capture.reason or "",
            note=f"{units.counted(facts.capture.num_windows, 'window')}, "
            f"{units.counted(facts.capture.num_steps, 'step')}",
        ),
    ]
    show_tiles(tiles, first_is_large=True)


def number(
    key: str,
    text: str,
    source: Source | None = "measured",
    reason: str = "",
    *,
    label: str = "",
    note: str = "",
) -> Tile:
    """A tile for a defined number; `text` is the value with its unit, or a dash."""
    value, unit = split_unit(text)
    found = DEFINITIONS[key]
    return Tile(label or found.label, value, unit, found.text, source, reason, note)


def _step_time(facts: Facts) -> Tile:
    steps = facts.steps
    low, high = steps.quantile_ms(0.1), steps.quantile_ms(0.9)
    spread = f"10 to 90 %: {units.number(low)} to {units.milliseconds(high)}"
    counted = units.counted(int(steps.timed.sum()), "step")
    return number(
        "step_time",
        units.milliseconds(steps.median_ms),
        "measured",
        "no step was recorded",
        label="Step time, median",
        note=f"{spread} · {counted}",
    )


def _efficiency(facts: Facts) -> Tile:
    pop = efficiency(facts.breakdown)
    parts = (
        f"balance {units.share(pop.load_balance)} × communication {units.share(pop.communication)}"
    )
    return number(
        "parallel_efficiency", units.share(pop.parallel), "derived", pop.reason or "", note=parts
    )


def exposed(facts: Facts, hidden: tuple[Overlap, ...]) -> Tile:
    """Exposed communication: mean of the replicas."""
    if facts.segment.num_replicas == 1:
        return number("exposed", units.MISSING, None, "one replica: no communication")
    if not hidden:
        return number("exposed", units.MISSING, None, NO_SPANS)
    mean_ms = sum(item.exposed_ms for item in hidden) / len(hidden)
    wall = facts.breakdown.mean_ms("wall")
    note = f"{units.share(mean_ms / wall)} of a captured step" if wall else ""
    return number("exposed", units.milliseconds(mean_ms), "derived", note=note)


def _straggler(facts: Facts) -> Tile:
    found = facts.stragglers
    if found.reason:
        return number("slowest", units.MISSING, None, found.reason, label="Straggler")
    if found.straggler is None:
        definition = DEFINITIONS["slowest"].text
        return Tile("Straggler", "none", "", definition, "derived", note="no replica stands out")
    return number(
        "slowest",
        units.milliseconds(found.straggler.late_ms),
        "derived",
        label="Straggler",
        note=f"{found.straggler.name}, later than the others",
    )


def _loss(facts: Facts) -> Tile:
    first, last = facts.steps.first_loss, facts.steps.last_loss
    return number(
        "loss",
        units.number(last, 4),
        "measured",
        "no step recorded a finite loss",
        label="Loss, last",
        note=f"from {units.number(first, 4)}",
    )


def _times(ratio: float | None) -> str:
    return units.MISSING if ratio is None else f"{ratio:.3f} ×"
