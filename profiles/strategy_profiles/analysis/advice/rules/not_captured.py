"""The captures do not show what makes the steps long.

## What it does

Compares a typical captured step with the median step: less than half of it. Says so, too, if of no
captured step is known on which replica its ops ran.

## Why is this slow

Early captures see full input buffers; what a usual step waits for is not in them. On which device
an op runs is in the graph of the step, which TensorFlow gives out in its first call.

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
    """Captured steps that are much shorter than the others, or whose ops have no replica."""
    wall, median = facts.breakdown.mean_ms("wall"), facts.steps.median_ms
    if wall and median and facts.captures_are_unlike and not busy_thread.is_notable(facts):
        yield _not_captured(facts, wall, median)
    captured, replicas = facts.held_up.num_steps, facts.breakdown.replicas
    is_graph = facts.op_by_op is None and facts.breakdown.is_in_sync and not facts.is_imported
    if captured and is_graph and not any(each.num_steps for each in replicas):
        yield finding(
            facts,
            KEY,
            f"Of {units.counted(captured, 'captured step')} it is not known on which replica the "
            "ops ran, as TensorFlow gave no graph of the step: what its time goes to is not known.",
            "Record the program again. If it stays so, the lab does not know this kind of step: "
            "please report it.",
            None,
        )


def edits(_facts: Facts, result: Finding) -> dict[str, Any]:
    """Every step captured, where captured steps are unlike the others."""
    return {"capture.every_step": True} if "captured_ms" in result.evidence else {}
