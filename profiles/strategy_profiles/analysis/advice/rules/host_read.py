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

from strategy_profiles.analysis.advice.rows import anywhere, rows_as_finding
from strategy_profiles.analysis.facts import Facts, Finding

KEY = "host-read"
ROWS = anywhere("host-read")
NO_GAIN = "What runs between the steps is not an op of the replayed step."
ADVICE = (
    "Read results every few steps, or at the end of an epoch: keep a running sum in a metric or a "
    "tf.Variable. Of a table, read only the rows that are needed (tf.gather before .numpy())."
)


def find(facts: Facts) -> Iterator[Finding]:
    return rows_as_finding(facts, KEY, "host-read", "Reading results takes", ADVICE)
