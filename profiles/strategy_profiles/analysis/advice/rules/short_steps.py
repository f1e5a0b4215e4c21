"""Short steps that are started one at a time.

## What it does

Looks for steps of 10 ms or less in which TensorFlow's Python around the calls takes 10 % of a
typical captured step or more. From 30 % on, `dispatch` says so whatever the step's length. Python
is sampled every 2 ms: below 4 ms, all time in which no replica runs anything, without another
cause, counts as the step's start. The time that `python-in-input` or
`many-small-collectives` reports does not count.

## Why is this slow

Each step is a call from Python. Its cost does not shrink with the step.

## What to do

Run several steps in one call: `compile(steps_per_execution=...)` in Keras, a loop inside the
`tf.function` otherwise; or give each step a larger batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from strategy_profiles.analysis.advice.rules.debugging_ops import behind_calls
from strategy_profiles.analysis.advice.rules.dispatch import calls_alone_ms, several_steps
from strategy_profiles.analysis.advice.rules.idle import IDLE_SHARE, OTHERS, SAMPLED_MS
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.analysis.removal import Removal
from strategy_profiles.tables.schema import CALLS

KEY = "short-steps"
ROWS = ("loop/steps/idle",)
SHORT_MS = 10.0
NO_BATCH = "The global batch of this segment was not recorded."


def find(facts: Facts) -> Iterator[Finding]:
    """Short steps, unless the captures say nothing of a usual one."""
    wall, median = facts.breakdown.mean_ms("wall"), facts.steps.median_ms
    if not wall or not median or median > SHORT_MS or not facts.breakdown.is_in_sync:
        return
    if facts.is_imported:
        return
    calls_ms = calls_alone_ms(facts)
    starts = "the Python that starts it"
    if wall < SAMPLED_MS and calls_ms / wall < IDLE_SHARE:
        idle_ms = facts.all_idle_ms
        if idle_ms is None:
            idle_ms = facts.breakdown.mean_ms("idle") or 0.0
        calls_ms += idle_ms - facts.held_up.held_ms(*CALLS, *OTHERS)
        starts = "the Python and the runtime that start it"
    elif calls_ms / wall >= IDLE_SHARE:
        return
    is_tracing = facts.held_up.held_ms("tracing") / wall >= HELD_SHARE
    if facts.captures_are_unlike or is_tracing or calls_ms / wall < HELD_SHARE:
        return
    result = finding(
        facts,
        KEY,
        f"{of_a_step(facts, calls_ms, wall)} passes in {starts}, while no replica runs an op.",
        f"{several_steps(facts)}, or raise the global batch size.",
        per_step(facts, calls_ms, wall),
        median_ms=median,
        held_ms=calls_ms,
    )
    yield replace(result, caused_by=behind_calls(facts))


def edits(facts: Facts, _result: Finding) -> dict[str, Any]:
    """Twice the batch: half as many calls for as many examples."""
    batch = facts.segment.global_batch_size
    return {"global_batch_size": 2 * batch} if batch else {}


def removal(facts: Facts, result: Finding) -> Removal | str:
    """With the proposed batch, per example."""
    return Removal("spec", changes=edits(facts, result)) if edits(facts, result) else NO_BATCH
