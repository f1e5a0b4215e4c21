"""The captures do not show what makes the steps long.

## What it does

Compares a typical captured step with the median step: less than half of it.

## Why is this slow

Early captures see full input buffers; what a usual step waits for is not in them.

## What to do

Record more steps, or capture every step (`capture.every_step`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.advice.rules import busy_thread
from strategy_profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_profiles.reporting import units

KEY = "not-captured"
ROWS = ("loop/steps",)
NO_GAIN = "The captured steps are unlike the others, so their replay says little."


def _not_captured(facts: Facts, wall: float, median: float) -> Finding:
    return finding(
        facts,
        KEY,
        f"A typical captured step took {units.milliseconds(wall)}, the median step "
        f"{units.milliseconds(median)}: the captures do not show why other steps take longer.",
        "Record more steps, or capture every step (capture.every_step): the first window is "
        "early, when the input's buffers may still be full.",
        per_step(facts, median - wall, median, "derived"),
        captured_ms=wall,
        median_ms=median,
    )


def find(facts: Facts) -> Iterator[Finding]:
    """Captured steps that are much shorter than the others."""
    wall, median = facts.breakdown.mean_ms("wall"), facts.steps.median_ms
    if wall and median and facts.captures_are_unlike and not busy_thread.is_notable(facts):
        yield _not_captured(facts, wall, median)


def edits(_facts: Facts, _result: Finding) -> dict[str, Any]:
    """Every step captured."""
    return {"capture.every_step": True}
