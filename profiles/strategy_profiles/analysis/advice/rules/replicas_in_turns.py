"""The replicas take turns, because `strategy.run` is called outside of a `tf.function`.

## What it does

Says so if the recorder saw `strategy.run` called eagerly with several replicas in the process, at
the line of the call. The cost is the part of the steps that replicas at the same time would save.

## Why is this slow

Python runs the function of one replica after the other: while one works, the others do nothing.

## What to do

Call `strategy.run` inside a `tf.function`.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.run.events import IN_TURNS

KEY = "replicas-in-turns"
ROWS = ("loop/steps",)
NO_GAIN = "Replicas that run at the same time are another graph than the recorded one."


def find(facts: Facts) -> Iterator[Finding]:
    place, num_here = facts.noted.get(IN_TURNS), facts.segment.num_replicas
    steps = facts.account.row("loop/steps")
    if place is None or num_here < 2 or steps is None:
        return
    num_here //= max(1, facts.segment.num_workers)
    yield finding(
        facts,
        KEY,
        f"The {num_here} replicas take turns: strategy.run is called outside of a tf.function at "
        f"{place}, and Python runs one replica after the other.",
        "Call strategy.run inside a tf.function: put @tf.function on the function that calls it.",
        over_all_steps(facts, steps.total_ms * (1 - 1 / num_here), "derived"),
        place=place,
    )
