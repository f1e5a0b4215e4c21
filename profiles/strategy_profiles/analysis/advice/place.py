"""A line of the program as a sentence names it."""

from __future__ import annotations

from strategy_profiles.analysis.causes import Cause
from strategy_profiles.analysis.facts import Facts


def quoted_line(cause: Cause) -> str:
    """`train.py:9 (`score(loss)`)`: file and line, then the line itself."""
    return f"{cause.name} (`{cause.detail}`)" if cause.detail else cause.name


def place_of_failure(facts: Facts) -> str:
    """` at train.py:12`, to follow a verb; empty if the line is not known."""
    return f" at {facts.failed.place}" if facts.failed and facts.failed.place else ""
