"""The run in a sentence or two: what it was, how it ended, what its step was spent on."""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.findings import Facts, main_finding
from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.tables.schema import CATEGORIES

_ENDINGS = {
    "finished": "finished",
    "stopped": "was stopped",
    "running": "is still running",
    "failed": "failed",
    "incomplete": "was cut off",
}
MAX_REASON = 300


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
    yield (
        f"{workload} {_ENDINGS[status.state]} after {count:,} {'step' if count == 1 else 'steps'}"
        f"{reason.rstrip('.')}. With strategy {longest.segment.strategy} on "
        f"{longest.segment.size}{number}, "
        f"a step took {units.milliseconds(longest.steps.median_ms)}. "
    )
    main = main_finding(longest)
    yield main.sentence if main else _where_it_went(longest)


def _where_it_went(facts: Facts) -> str:
    """Nothing stands out: then what the step was spent on."""
    wall = facts.breakdown.mean_ms("wall")
    lengths = {phase: facts.breakdown.mean_ms(phase) for phase in CATEGORIES}
    if not wall:
        return "What limits it is unknown without a capture window or per-replica timestamps."
    known = sorted(((v, phase) for phase, v in lengths.items() if v is not None), reverse=True)
    parts = [
        f"{units.share(value / wall)} {phase}" for value, phase in known if value / wall >= 0.05
    ]
    return f"Of it, {', '.join(parts)}." if parts else ""
