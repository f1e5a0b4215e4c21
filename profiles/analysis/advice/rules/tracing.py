"""The first step, which traces, is a large part of the run.

## What it does

Compares the first step with the time of all steps: 20 % or more.

## Why is this slow

The first step builds and compiles the program. A program that divides the time of all steps by
their number counts it as a step; the numbers of the lab do not include it.

## What to do

Record more steps: its share falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_lab.profiles.reporting import units

KEY = "tracing"
NO_GAIN = "The first step is left out of a replay."
LONG_FIRST_STEP = 0.2
"""Share of the time of all steps."""


def find(facts: Facts) -> Iterator[Finding]:
    first, total = facts.steps.first_step_ms, facts.total_ms
    if (
        not facts.steps.num_warm_up
        or facts.steps.count < 2
        or first is None
        or not total
        or first / total < LONG_FIRST_STEP
    ):
        return
    num_steps = facts.steps.num_warm_up
    what = "The first step" if num_steps == 1 else f"The first call, of {num_steps} steps,"
    yield finding(
        facts,
        KEY,
        f"{what} took {units.seconds(first / 1e3)}, {units.share(first / total)} of the time of "
        f"{facts.all_steps}, because it traces and compiles the program. Other numbers do not "
        "include it.",
        "Record more steps: a long first step is normal, and its share falls.",
        over_all_steps(facts, first),
        first_step_ms=first,
    )


def edits(facts: Facts, _found: Finding) -> dict[str, Any]:
    """Ten times as many steps."""
    return {"steps": 10 * facts.steps.count}
