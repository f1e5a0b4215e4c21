"""Prediction takes a large part of the loop.

## What it does

Takes the time between steps that Keras's `predict` runs, or lines and functions named after it: 5 %
of the loop or more.

## Why is this slow

No replica trains meanwhile, and each call of `predict` makes an iterator over its data.

## What to do

Predict less often. For one batch, call the model itself in a `tf.function`, or `predict_on_batch`.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_lab.profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows
from strategy_lab.profiles.analysis.facts import Facts, Finding, finding

KEY = "prediction"
ROWS = ("loop/between/predict",)
NO_GAIN = "What runs between the steps is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    for row in large_rows(facts, "predict"):
        yield finding(
            facts,
            KEY,
            f"Prediction takes {how_long(facts, row)}{at_line(facts, row)}.",
            "Predict less often. For one batch, call the model itself in a tf.function, or "
            "predict_on_batch(): predict() makes an iterator over its data each time.",
            cost_of(facts, row),
            place=row.place,
        )
