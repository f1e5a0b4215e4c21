"""The first section: what this run was and why it was slow, in a sentence; then the numbers."""

from __future__ import annotations

from collections.abc import Iterator

from profiles import units
from profiles.analysis.efficiency import scaling
from profiles.analysis.findings import Facts, findings, main_finding
from profiles.definitions import DEFINITIONS
from profiles.exports.report.facts import RunFacts, title_of
from profiles.exports.report.markup import Markup, join, tag
from profiles.exports.report.section import Cell, Section, quantity, source_mark, table
from profiles.schema import CATEGORIES
from profiles.units import MISSING

_ENDINGS = {
    "finished": "finished",
    "stopped": "was stopped",
    "running": "is still running",
    "failed": "failed",
    "incomplete": "was cut off",
}
MAX_REASON = 300


def overview(facts: RunFacts) -> Section:
    """The sentence, what went wrong if anything, the numbers, every finding, the segments."""
    state = facts.profile.status.state
    parts = [
        tag("span", state, class_=f"status {state}"),
        tag("h1", *sentences(facts)),
        _alert(facts),
        _numbers(facts.longest) if facts.longest and facts.longest.steps.count else None,
        _findings(facts),
        _segments(facts) if len(facts.segments) > 1 else None,
    ]
    return Section("overview", "Overview", join(*parts))


def sentences(facts: RunFacts) -> Iterator[str]:
    """What the run was, how it ended, then the finding that explains most of its step."""
    longest, status = facts.longest, facts.profile.status
    workload = (facts.profile.spec or {}).get("workload") or "A program of its own"
    reason = f": {status.message[:MAX_REASON]}" if status.message else ""
    if longest is None or not longest.steps.count:
        yield f"{workload} {_ENDINGS[status.state]} before its first step was done{reason}"
        return
    count = sum(item.steps.count for item in facts.segments)
    several = len(facts.segments) > 1
    number = f", segment {longest.segment.segment} of {len(facts.segments)}" if several else ""
    replicas = "1 replica" if (n := longest.segment.num_replicas) == 1 else f"{n} replicas"
    yield (
        f"{workload} {_ENDINGS[status.state]} after {count:,} {'step' if count == 1 else 'steps'}"
        f"{reason.rstrip('.')}. With strategy {longest.segment.strategy} on {replicas}{number}, "
        f"a step took {units.milliseconds(longest.steps.median_ms)}. "
    )
    main = main_finding(longest)
    yield main.sentence if main else _where_it_went(longest)


def _where_it_went(facts: Facts) -> str:
    """Nothing stands out: then what the step was spent on."""
    wall = facts.breakdown.mean_ms("wall")
    lengths = {phase: facts.breakdown.mean_ms(phase) for phase in CATEGORIES}
    if not wall:
        return "What limits it cannot be said without a capture window or per-replica marks."
    known = sorted(((v, phase) for phase, v in lengths.items() if v is not None), reverse=True)
    parts = [
        f"{units.share(value / wall)} {phase}" for value, phase in known if value / wall >= 0.05
    ]
    return f"Of it, {', '.join(parts)}." if parts else ""


def _alert(facts: RunFacts) -> Markup | None:
    """What the run warned of, what cannot be read of it, and the details of a failure."""
    lines = [
        str(record.get("message"))
        for record in facts.profile.records("note")
        if record.get("level") == "warning"
    ]
    lines += facts.profile.notes
    lines += [error for item in facts.segments for error in item.capture.errors]
    shown = [tag("p", line) for line in dict.fromkeys(lines) if line]
    details = [str(r["detail"]) for r in facts.profile.records("failed") if r.get("detail")]
    if details:
        shown.append(tag("details", tag("summary", "Details"), tag("pre", details[-1][:20_000])))
    return tag("div", *shown, class_="alert", role="note") if shown else None


def _numbers(facts: Facts) -> Markup:
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
            cost.reason or f"{cost.num_windows} windows, {cost.num_steps} steps in full",
        ),
        class_="numbers",
    )


def _straggler(facts: Facts) -> Markup:
    found = facts.stragglers
    if found.straggler is not None:
        late = units.milliseconds(found.straggler.late_ms)
        how = f"replica {found.straggler.replica} is late by this much"
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


def _count(value: int | None) -> str:
    return "unknown" if value is None else f"{value:,}"


def _ratio(value: float | None) -> str:
    return MISSING if value is None else f"{value:.3f} ×"


def _findings(facts: RunFacts) -> Markup | None:
    """Every finding with its advice; what holds for several segments is said once."""
    found: dict[tuple[str, str], list[str]] = {}
    for item in facts.segments:
        for finding in findings(item):
            where = found.setdefault((finding.sentence, finding.advice), [])
            where.append(title_of(item.segment))
    if not found:
        return None
    several = len(facts.segments) > 1
    rows = [
        tag(
            "li",
            tag("span", f"{'; '.join(where)}: ", class_="quiet") if several else None,
            sentence,
            tag("span", f" {advice}", class_="quiet"),
        )
        for (sentence, advice), where in found.items()
    ]
    return join(tag("h3", "What explains it, and what to try"), tag("ul", *rows, class_="found"))


def _batch(size: int | None) -> Cell:
    return quantity(MISSING if size is None else f"{size:,}", size)


def _segments(facts: RunFacts) -> Markup:
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
    return table("Each live reconfiguration opened a segment", heads, rows)


def _scaling(base: Facts, item: Facts) -> str:
    """Strong or weak scaling efficiency; the first segment is the base of the others."""
    found = scaling((base.segment, base.steps), (item.segment, item.steps))
    if item is base or found is None or found.base_replicas == found.num_replicas:
        return MISSING
    return f"{found.kind}, {units.share(found.efficiency)}"


def _carried(facts: Facts) -> Cell | str:
    """Whether model and optimizer state came over exactly, as the run's own checksums say."""
    before, after = facts.segment.state_checksum_before, facts.segment.state_checksum_after
    if before is None or after is None:
        return MISSING
    how = f", {facts.segment.moved}" if facts.segment.moved else ""
    return f"carried over exactly{how}" if before == after else f"differs{how}"
