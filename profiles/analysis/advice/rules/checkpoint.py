"""Saving takes a large part of the loop.

## What it does

Takes the time between steps in which the program saves or loads weights or a model: 5 % of the loop
or more.

## Why is this slow

The training thread writes, and no replica trains meanwhile.

## What to do

Save less often, save weights instead of the whole model, or write in another thread
(`tf.train.CheckpointOptions(enable_async=True)`).
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding

KEY = "checkpoint"
ROWS = ("loop/between/checkpoint",)
NO_GAIN = "What runs between the steps is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    for row in large_rows(facts, "checkpoint"):
        yield finding(
            facts,
            KEY,
            f"Saving takes {how_long(facts, row)}{at_line(facts, row)}.",
            "Save less often, save weights instead of the whole model, or save in another thread: "
            "tf.train.CheckpointOptions(enable_async=True).",
            cost_of(facts, row),
            place=row.place,
        )
