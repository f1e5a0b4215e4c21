"""The program's own Python runs while every replica waits.

## What it does

Adds up the Python of the program (reading a tensor back to Python included) while no replica runs
an op: 10 % of a step or more. Names the line that takes longest.

## Why is this slow

The devices have nothing to do until Python starts the next step.

## What to do

Move the work into the `tf.function` or another thread, or do it every few steps.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.place import quoted_line
from strategy_profiles.analysis.advice.rules.python_op import HELD_SHARE
from strategy_profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    per_step,
)
from strategy_profiles.reporting import units

KEY = "host-round-trip"
ROWS = ("loop/steps/idle",)
NO_GAIN = "The program's own Python is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    """The program's own Python in the step, with the line that takes longest."""
    wall = facts.breakdown.mean_ms("wall")
    lines = facts.held_up.of_kind("python", "read-back")
    held_ms = facts.held_up.held_ms("python", "read-back")
    if not wall or held_ms / wall < HELD_SHARE:
        return
    longest = lines[0]
    doing = "copies a tensor to Python" if longest.kind == "read-back" else "runs Python"
    yield finding(
        facts,
        KEY,
        f"{of_a_step(facts, held_ms, wall)} is spent in the program's own Python while no "
        f"replica runs an op: most of it ({units.milliseconds(longest.held_ms)}) {doing} at "
        f"{quoted_line(longest)}.",
        "The replicas wait for this work. Move it into the tf.function or another thread, or "
        "do it only every few steps.",
        per_step(facts, held_ms, wall),
        place=longest.name,
        line=longest.detail,
        held_ms=held_ms,
    )
