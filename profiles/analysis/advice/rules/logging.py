"""Logging takes a large part of the loop.

## What it does

Takes the time between steps in which the program writes summaries, logs, or prints by TensorFlow or
Keras: 5 % of the loop or more. Python's own `print` counts for the line that calls it.

## Why is this slow

The thread that trains writes, and no replica trains meanwhile.

## What to do

Log every few steps. Histograms and images cost most.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding

KEY = "logging"
ROWS = ("loop/between/logging",)
NO_GAIN = "What runs between the steps is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    for row in large_rows(facts, "logging"):
        yield finding(
            facts,
            KEY,
            f"Logging takes {how_long(facts, row)}{at_line(facts, row)}.",
            "Log every few steps; histograms and images cost most.",
            cost_of(facts, row),
            place=row.place,
        )
