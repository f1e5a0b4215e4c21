"""Prediction takes a large part of the loop.

## What it does

Takes the time between steps that Keras's `predict` runs, or lines and functions named after it: 5 %
of the loop or more.

## Why is this slow

No replica trains meanwhile, and each call of `predict` makes an iterator over its data.

## What to do

For one batch, use `predict_on_batch`, or call the model itself in a `tf.function`. Or predict less
often.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rows import anywhere, rows_as_finding
from strategy_profiles.analysis.facts import Facts, Finding

KEY = "prediction"
ROWS = anywhere("predict")
NO_GAIN = "What runs between the steps is not an op of the replayed step."
ADVICE = (
    "For one batch, use predict_on_batch(), or call the model itself in a tf.function: predict() "
    "makes an iterator over its data each time. Or predict less often."
)


ON_BATCHES = (
    "Each call takes long by itself, however few rows it has: give predict_on_batch() as many rows "
    "as fit into memory, or the whole array to predict(). Or predict less often."
)


def find(facts: Facts) -> Iterator[Finding]:
    return rows_as_finding(facts, KEY, "predict", "Prediction takes", ADVICE)
