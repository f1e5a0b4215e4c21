"""A segment in a sentence or two: what was run, how fast, and what limits it."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from strategy_lab.profiles.analysis.findings import Facts, main_finding
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.reporting.palette import phase_name
from strategy_lab.profiles.tables.schema import CATEGORIES

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile


class Strong(str):
    """A part of a sentence to be emphasised."""

    __slots__ = ()


def headline(profile: Profile, facts: Facts) -> tuple[str, ...]:
    """The parts of the text in order; join them, or draw those of class `Strong` bold."""
    segment, step_ms = facts.segment, facts.steps.median_ms
    workload = segment.spec.get("workload") or (profile.spec or {}).get("workload")
    runs = (" trains ", Strong(PurePath(str(workload)).name)) if workload else (" runs",)
    batch = segment.global_batch_size
    sized = "" if batch is None else f", batch {batch:,}"
    first: tuple[str, ...] = (Strong(segment.strategy), f" on {segment.size}", *runs, f"{sized}: ")
    if profile.is_imported:
        first = ("The ", Strong("imported profile"), f" has {segment.size}: ")
    if step_ms is None:
        return *first, f"{facts.steps.why_no_time}."
    # Workers of parameter servers step beside each other: one's step takes longer.
    pace = "a step takes " if facts.breakdown.is_in_sync else "a step is done every "
    limit = _limit(facts)
    return *first, pace, Strong(units.milliseconds(step_ms)), f". {limit}" if limit else "."


def _limit(facts: Facts) -> str:
    """The finding that explains the largest share; if all are small, where the step went."""
    main = main_finding(facts)
    if main is not None:
        return main.sentence
    wall = facts.breakdown.mean_ms("wall")
    if not wall:
        return "What limits it is unknown without a capture window or per-replica timestamps."
    phases = [(facts.breakdown.mean_ms(name) or 0.0, name) for name in CATEGORIES]
    parts = [
        f"{units.share(length / wall)} {phase_name(name)}"
        for length, name in sorted(phases, key=lambda item: -item[0])
        if length / wall >= 0.05
    ]
    return f"Of it, {', '.join(parts)}." if parts else ""
