"""The key numbers, the most important one first and largest; each says where it came from."""

from __future__ import annotations

from strategy_lab.profiles.analysis.findings import Facts
from strategy_lab.profiles.exports.report.markup import Markup, tag
from strategy_lab.profiles.exports.report.section import source_mark
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.definitions import DEFINITIONS
from strategy_lab.profiles.reporting.units import MISSING


def key_numbers(facts: Facts) -> Markup:
    """The key numbers of the longest segment, the step time first and largest."""
    steps, split, traffic = facts.steps, facts.breakdown, facts.communication
    low, high = (
        units.milliseconds(steps.quantile_ms(0.1)),
        units.milliseconds(steps.quantile_ms(0.9)),
    )
    compute, wait = split.mean_ms("compute"), split.mean_ms("wait")
    cost = facts.capture
    return tag(
        "dl",
        _number(
            "step_time",
            units.milliseconds(steps.median_ms),
            "measured",
            f"median of {steps.timed_ms.size:,}; 10th to 90th percentile {low} to {high}",
        ),
        _number(
            "throughput",
            units.number(steps.examples_per_second),
            "derived",
            f"global batch {units.number(facts.segment.global_batch_size, 0)}",
            unit="examples/s",
        ),
        _number(
            "loss",
            units.number(steps.last_loss, 4),
            "measured",
            f"at the end; {units.number(steps.first_loss, 4)} at the start",
        ),
        _number(
            "compute",
            units.milliseconds(compute),
            split.source,
            _share_of(compute, facts),
        ),
        _number(
            "wait",
            units.milliseconds(wait),
            split.source,
            _share_of(wait, facts),
        ),
        _straggler(facts),
        _number(
            "traffic", units.size(traffic.collective_bytes), "derived", traffic.reason or "per step"
        ),
        _number(
            "capture_overhead",
            _ratio(cost.overhead_ratio),
            "derived",
            cost.reason
            or f"{units.counted(cost.num_windows, 'window')}, "
            f"{units.counted(cost.num_steps, 'step')} in full",
        ),
        class_="numbers",
    )


def _straggler(facts: Facts) -> Markup:
    found = facts.stragglers
    if found.straggler is not None:
        late = units.milliseconds(found.straggler.late_ms)
        how = f"{found.straggler.name} is late by this much"
        return _number("slowest", late, found.source, how)
    if found.reason:
        return _number("slowest", MISSING, None, found.reason)
    return _number("slowest", "none", found.source, "no replica stands out")


def _number(key: str, text: str, source: str | None, how: str, *, unit: str = "") -> Markup:
    item = DEFINITIONS[key]
    value, _, own_unit = text.partition(" ")
    is_missing = text == MISSING
    return tag(
        "div",
        tag("dt", item.label, title=item.text),
        tag(
            "dd",
            tag("span", value, class_="value"),
            tag("span", own_unit or unit, class_="unit") if not is_missing else None,
        ),
        tag("dd", source_mark("unavailable" if is_missing else source), " ", how, class_="how"),
        class_="number first" if key == "step_time" else "number",
    )


def _share_of(part: float | None, facts: Facts) -> str:
    """What share of a step a phase is: of the steps that it was measured in."""
    whole = facts.breakdown.mean_ms("wall")
    if part is None or not whole:
        return facts.breakdown.reason or "not recorded"
    which = "a captured step" if facts.breakdown.source == "measured" else "a step"
    return f"mean over replicas; {units.share(part / whole)} of {which}"


def _ratio(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f} ×"
