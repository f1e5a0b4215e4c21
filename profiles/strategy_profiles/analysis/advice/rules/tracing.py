"""The first step, which traces, is a large part of the run.

## What it does

Compares the first step with the time of all steps: 20 % or more. If half of it or more is the wait
for the first batch, says so. If a recorded program trains three times or more, each time with such
a first step, says that.

## Why is this slow

The first step builds and compiles the program, and waits for the first batch: a shuffle buffer is
filled before. A program that divides the time of all steps by their number counts it as a step; the
numbers of the lab do not include it.

## What to do

Record more steps: its share falls. If the first batch comes late, make the shuffle buffer smaller,
or do less for each of its elements. A program that makes model after model spends less on their
first steps if it makes one, and sets its variables before each training.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.reporting import units

KEY = "tracing"
ROWS = ("loop/first",)
NO_GAIN = "The first step is left out of a replay."
LONG_FIRST_STEP = 0.2
"""Share of the time of all steps."""
MOST_OF_STEP = 0.5
SEVERAL = 3
"""Trainings of a program, one after the other."""


def find(facts: Facts) -> Iterator[Finding]:
    first, total = _first_ms(facts), facts.total_ms
    if not facts.steps.num_warm_up or facts.steps.count < 2 or not total:
        return
    if first / total < LONG_FIRST_STEP:
        return
    num_steps = facts.steps.num_warm_up
    what = "The first step" if num_steps == 1 else f"The first call, of {num_steps} steps,"
    waited_ms = float(np.nan_to_num(facts.steps.input_ms[0]))
    why = ", because it includes what is done only once, such as tracing and compiling."
    advice = "Record more steps: a long first step is normal, and its share falls."
    if waited_ms >= MOST_OF_STEP * first:
        why = (
            f": {units.seconds(waited_ms / 1e3)} of it until the first batch was there. In the "
            "rest it traces and compiles the program."
        )
        advice = (
            "Make the first batch quicker: shuffle() fills its whole buffer before, so give it a "
            "smaller one, or shuffle file names or indices before the work of map()."
        )
    if comes_back := facts.num_trained >= SEVERAL:
        why = (
            f". The program trains {facts.num_trained} times, each time with another function "
            "of the step, and each begins with such a step, which traces it."
        )
        advice = (
            "Make and compile one model, or in a custom loop one tf.function for the step, and set "
            "the weights and those of the optimizer before each training."
        )
    yield finding(
        facts,
        KEY,
        f"{what} took {units.seconds(first / 1e3)}, {units.share(first / total)} of the time of "
        f"{facts.all_steps}{why} Other numbers do not include it.",
        advice,
        over_all_steps(facts, first),
        once_ms=first,
        first_batch_ms=waited_ms,
        comes_back=comes_back,
        waits=waited_ms >= MOST_OF_STEP * first,
    )


def _first_ms(facts: Facts) -> float:
    """How long the first step took, without what the lab's recorder did in it."""
    recorder = facts.account.row("loop/first/recording")
    recorded_ms = recorder.total_ms if recorder else 0.0
    return max(0.0, (facts.steps.first_step_ms or 0.0) - recorded_ms)


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Ten times as many steps."""
    return {"steps": 10 * facts.steps.count}
