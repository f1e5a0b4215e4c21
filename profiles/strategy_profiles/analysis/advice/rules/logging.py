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

from strategy_profiles.analysis.advice.rows import anywhere, rows_as_finding
from strategy_profiles.analysis.facts import Facts, Finding

KEY = "logging"
ROWS = anywhere("logging")
NO_GAIN = "What runs between the steps is not an op of the replayed step."
ADVICE = "Log every few steps; histograms and images cost most."


def find(facts: Facts) -> Iterator[Finding]:
    return rows_as_finding(facts, KEY, "logging", "Logging takes", ADVICE)
