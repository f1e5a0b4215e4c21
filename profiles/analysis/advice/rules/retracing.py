"""A `tf.function` is traced again and again.

## What it does

Looks for two or more steps after the first in which a function is traced again, and names the
argument that changed, or the line that makes a new function for each call.

## Why is this slow

Tracing runs the Python of the function and builds a new graph, often a hundred times as long as a
step.

## What to do

Create each `tf.function` once, pass changing numbers as tensors, and give changing shapes an
`input_signature`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strategy_lab.profiles.analysis.cost import Cost
from strategy_lab.profiles.analysis.facts import (
    Facts,
    Finding,
    finding,
    of_a_step,
    over_all_steps,
    per_step,
)
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.run.events import MADE_AGAIN

KEY = "retracing"
ROWS = ("loop/steps/tracing", "loop/steps")
NO_GAIN = "Steps that trace are left out of a replay."
FEWEST_RETRACES = 2


def find(facts: Facts) -> Iterator[Finding]:
    """A function that is traced again and again; the first step's tracing is no fault."""
    traced, steps = facts.retracing, facts.steps
    captured = facts.held_up.of_kind("tracing")
    wall, building_ms = facts.breakdown.mean_ms("wall"), facts.held_up.held_ms("tracing")
    name = traced.function or (captured[0].name if captured else "")
    if len(traced.steps) >= FEWEST_RETRACES:
        count = (
            f"{len(traced.steps):,} of the {units.counted(steps.count - 1, 'step')} after the first"
        )
    elif captured and captured[0].num_steps >= FEWEST_RETRACES:
        count = (
            f"{captured[0].num_steps} of {units.counted(facts.held_up.num_steps, 'captured step')}"
        )
    else:
        return
    why = f": {traced.argument}" if traced.argument else ""
    building = ""
    if building_ms and wall:
        cost = per_step(facts, building_ms, wall)
        building = f" Building its graph takes {of_a_step(facts, building_ms, wall)}."
    else:
        cost = _longer_than_the_others(facts)
    yield finding(
        facts,
        KEY,
        f"{name} is traced again in {count}{why}.{building}",
        _about_tracing(traced.argument),
        cost,
        function=name,
        num_steps=len(traced.steps),
        argument=traced.argument,
        building_ms=building_ms or None,
    )


def _longer_than_the_others(facts: Facts) -> Cost | None:
    """What the traced steps took beyond the median of the others; None if all are traced."""
    steps = facts.steps
    is_traced = np.isin(steps.step, facts.retracing.steps)
    others = ~is_traced & (np.arange(steps.count) >= steps.num_warm_up)
    if not is_traced.any() or not others.any():
        return None
    longer = steps.wall_ms[is_traced] - float(np.median(steps.wall_ms[others]))
    return over_all_steps(facts, float(longer[longer > 0].sum()), "derived")


def _about_tracing(argument: str | None) -> str:
    if argument is None or argument.startswith(MADE_AGAIN):
        return (
            "Create each tf.function once, outside the loop, and pass it tensors: it is "
            "traced again for a new Python value or shape."
        )
    return (
        "Pass changing numbers as tensors (tf.constant, tf.Variable). For changing shapes, "
        "give the tf.function an input_signature or reduce_retracing=True."
    )
