"""The first section: the run and the reason for its step time in a sentence, then key numbers."""

from __future__ import annotations

from strategy_profiles.analysis.cost import cost_text
from strategy_profiles.analysis.efficiency import scaling
from strategy_profiles.analysis.findings import Facts, Finding, ranked
from strategy_profiles.analysis.headline import headline
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.answers.answer import Bold
from strategy_profiles.predictors import findings_with_gains
from strategy_profiles.questions.loop import loop
from strategy_profiles.reporting import units
from strategy_profiles.reporting.units import MISSING
from strategy_profiles.run.events import Failed, Note
from strategy_report.facts import RunFacts, Section
from strategy_report.html import as_html

_ENDINGS = {
    "finished": "finished",
    "stopped": "was stopped",
    "running": "is still running",
    "failed": "failed",
    "incomplete": "was cut off",
}
MAX_REASON = 300
MAX_DETAIL = 20_000


def overview(facts: RunFacts) -> Section:
    """Return the section: headline, problems if any, key numbers, findings, segments.

    Headline and key numbers are of one segment (`analysis.headline_segment`).
    """
    chosen = facts.headline_facts
    if chosen is not None and not chosen.steps.count:
        chosen = None
    parts = headline(facts.profile, chosen) if chosen else ()
    details = [failed.detail for failed in facts.profile.events(Failed) if failed.detail]
    values = {
        "headline": [(part, isinstance(part, Bold)) for part in parts],
        "ending": ending(facts),
        "alerts": _alerts(facts),
        "imported": _notes(facts, "info") if facts.profile.is_imported else [],
        "detail": details[-1][:MAX_DETAIL] if details else "",
        "numbers": key_numbers(chosen) if chosen else (),
        "findings": _findings(facts),
        "loop": as_html(loop(facts.profile, chosen)) if chosen else "",
        "scaling": {item.segment.segment: _scaling(facts, item) for item in facts.segments},
        "carried": {item.segment.segment: _carried(item) for item in facts.segments},
    }
    return Section("overview", "Overview", values)


def ending(facts: RunFacts) -> str:
    """Return how the run ended, after how many steps, and the segment of the key numbers."""
    status, chosen = facts.profile.status, facts.headline_facts
    reason = f": {status.message[:MAX_REASON].rstrip('.')}" if status.message else ""
    if chosen is None or not chosen.steps.count:
        return f"The run {_ENDINGS[status.state]} before its first step was done{reason}."
    steps = units.counted(sum(item.steps.count for item in facts.segments), "step")
    several = len(facts.segments) > 1
    number = chosen.segment.segment
    is_last = number == max(item.segment.segment for item in facts.segments if item.steps.count)
    why = "the last one with a step" if is_last else "which loses most time"
    which = f" Sentence and numbers are of segment {number}, {why}."
    return f"The run {_ENDINGS[status.state]} after {steps}{reason}.{which if several else ''}"


def _notes(facts: RunFacts, level: str) -> list[str]:
    return [note.message for note in facts.profile.events(Note) if note.level == level]


def _alerts(facts: RunFacts) -> list[str]:
    """Return the run's warnings, and what cannot be read of it."""
    lines = _notes(facts, "warning")
    lines += facts.profile.notes
    lines += [error for item in facts.segments for error in item.capture.errors]
    return [line for line in dict.fromkeys(lines) if line]


def _findings(facts: RunFacts) -> list[tuple[Finding, str, list[str]]]:
    """Return every finding, ranked, with its cost and, if the run has several, its segments."""
    titles = {item.segment.segment: facts.title(item) for item in facts.segments}
    by_text: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in ranked(
        [one for item in facts.segments for one in findings_with_gains(facts.profile, item)]
    ):
        same_text = finding.sentence, finding.advice, cost_text(finding.cost)
        by_text.setdefault(same_text, []).append(finding)
    several = len(titles) > 1
    return [
        (same[0], cost_text(same[0].cost), [titles[n] for n in numbers] if several else [])
        for same in by_text.values()
        if (numbers := sorted({item.segment for item in same}))
    ]


def _scaling(facts: RunFacts, item: Facts) -> str:
    """Return the strong or weak scaling efficiency relative to the first segment."""
    base = facts.segments[0]
    efficiency = scaling((base.segment, base.steps), (item.segment, item.steps))
    if item is base or efficiency is None or efficiency.base_replicas == efficiency.num_replicas:
        return MISSING
    return f"{efficiency.kind}, {units.share(efficiency.efficiency)}"


def _carried(facts: Facts) -> str:
    """Return whether model and optimizer state were carried over exactly, by their checksums."""
    before, after = facts.segment.state_checksum_before, facts.segment.state_checksum_after
    if before is None or after is None:
        return MISSING
    how = f", {facts.segment.moved}" if facts.segment.moved else ""
    return f"carried over exactly{how}" if before == after else f"differs{how}"
