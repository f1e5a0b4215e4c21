"""The program does something else between its steps.

## What it does

Compares the median time from the end of a step to the start of the next with the median step: a
quarter of both together or more, and at least 1 ms. Names the line that runs for most of it, if
steps were captured. Gaps before steps that trace, and gaps in which a capture window begins or
ends, are left out.

## Why is this slow

No replica has anything to do until the next step begins, and no step time includes this.

## What to do

Do it every few steps, or in another thread: callbacks, `predict`, checkpoints, logs, plots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from strategy_lab.profiles.analysis.advice.place import place
from strategy_lab.profiles.analysis.cost import Cost
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding, per_step
from strategy_lab.profiles.reporting import units

KEY = "between-steps"
NO_GAIN = "What runs between the steps is not an op of the replayed step."
BETWEEN_SHARE = 0.25
SHORTEST_MS = 1.0
"""A loop around a `tf.function` and Keras's own callbacks take less."""


def find(facts: Facts) -> Iterator[Finding]:
    """A usual gap that is a large part of the loop."""
    gap_ms, step_ms = facts.between.median_ms, facts.steps.median_ms
    if not facts.breakdown.is_in_sync or not gap_ms or not step_ms or gap_ms < SHORTEST_MS:
        return
    share = gap_ms / (gap_ms + step_ms)
    if share < BETWEEN_SHARE:
        return
    lines = facts.held_up.of_kind("between-steps")
    at = f", most of it at {place(lines[0])}" if lines else ""
    yield finding(
        facts,
        KEY,
        f"Between two steps the program does something else for {units.milliseconds(gap_ms)} "
        f"(median), {units.share(share)} of the time from step to step{at}. Step times do not "
        "include it.",
        "Do it every few steps or in another thread: callbacks, predict(), checkpoints, logs.",
        _cost(facts, gap_ms, step_ms, share),
        median_ms=gap_ms,
        place=lines[0].name if lines else None,
    )


def _cost(facts: Facts, gap_ms: float, step_ms: float, share: float) -> Cost | None:
    """Ranked as if it were a part of the step, which it may exceed."""
    beside = per_step(facts, gap_ms, step_ms)
    return replace(beside, of="loop", share=share) if beside else None
