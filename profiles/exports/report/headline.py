"""The report's first sentences: the segment with the most steps, then how the run ended."""

from __future__ import annotations

from strategy_lab.profiles.analysis.headline import Strong, headline
from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.exports.report.markup import Markup, join, tag

_ENDINGS = {
    "finished": "finished",
    "stopped": "was stopped",
    "running": "is still running",
    "failed": "failed",
    "incomplete": "was cut off",
}
MAX_REASON = 300


def heading(facts: RunFacts) -> Markup:
    """Return the headline of the longest segment, or how the run ended if it has no step."""
    if facts.longest is None or not facts.longest.steps.count:
        return tag("h1", ending(facts))
    parts = headline(facts.profile, facts.longest)
    shown = [tag("b", part) if isinstance(part, Strong) else part for part in parts]
    return join(tag("h1", *shown), tag("p", ending(facts)))


def ending(facts: RunFacts) -> str:
    """Return how the run ended, after how many steps, and the segment of the key numbers."""
    status, longest = facts.profile.status, facts.longest
    reason = f": {status.message[:MAX_REASON].rstrip('.')}" if status.message else ""
    if longest is None or not longest.steps.count:
        return f"The run {_ENDINGS[status.state]} before its first step was done{reason}."
    count = sum(item.steps.count for item in facts.segments)
    steps = f"{count:,} {'step' if count == 1 else 'steps'}"
    several = len(facts.segments) > 1
    number = longest.segment.segment
    which = f" Sentence and numbers are of segment {number} of {len(facts.segments)}."
    return f"The run {_ENDINGS[status.state]} after {steps}{reason}.{which if several else ''}"
