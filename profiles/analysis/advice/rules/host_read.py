"""Reading results takes a large part of the loop.

## What it does

Takes the time between steps in which a tensor is copied to Python (`numpy()`, `float()`): 5 % of
the loop or more.

## Why is this slow

The program waits until the tensor is there, and starts no further work.

## What to do

Read results every few steps, or at the end of an epoch: keep a running sum in a `tf.Variable` or a
metric.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding

KEY = "host-read"
ROWS = ("loop/between/host-read",)
NO_GAIN = "What runs between the steps is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    for row in large_rows(facts, "host-read"):
        yield finding(
            facts,
            KEY,
            f"Reading results takes {how_long(facts, row)}{at_line(facts, row)}.",
            "Read results every few steps, or at the end of an epoch: keep a running sum in a "
            "metric or a tf.Variable.",
            cost_of(facts, row),
            place=row.place,
        )
