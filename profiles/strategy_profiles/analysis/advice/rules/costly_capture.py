"""Full captures made the run longer.

## What it does

Compares the time of the segment with what it would have taken without full captures: 1.05 times
or more.

## Why is this slow

A capture records every op. On short steps, stopping and converting it takes longer than the
steps.

## What to do

Record longer, lower `capture.overhead_budget`, or do not capture every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps

KEY = "costly-capture"
ROWS = ("loop/between/recording", "loop/steps/recording", "loop/steps")
NO_GAIN = "A replay has captured steps alone, so it cannot tell what a capture costs."
COSTLY_CAPTURE = 1.05


def find(facts: Facts) -> Iterator[Finding]:
    ratio = facts.capture.overhead_ratio
    if ratio is None or ratio < COSTLY_CAPTURE:
        return
    yield finding(
        facts,
        KEY,
        f"The recording itself, by its full captures, made this segment {ratio:.2f} times as long.",
        "Record longer (the first window is always early), lower capture.overhead_budget, or "
        "do not capture every step.",
        over_all_steps(facts, facts.capture.cost_ms or 0.0, "derived"),
        overhead_ratio=ratio,
    )


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Captures within their budget only."""
    capture = (facts.segment.spec or {}).get("capture")
    is_every = isinstance(capture, dict) and capture.get("every_step")
    return {"capture.every_step": False} if is_every else {}
