"""Validation takes a large part of the loop.

## What it does

Takes the time between steps that Keras's `evaluate` runs, as a part of `fit` or called by the
program, or that lines and functions named after validation run: 5 % of the loop or more.

## Why is this slow

No replica trains meanwhile.

## What to do

Validate less often (`validation_freq`), or on fewer batches (`validation_steps`). `cache()` and
`prefetch()` the validation data, and map it in parallel.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rows import anywhere, rows_as_finding
from strategy_profiles.analysis.facts import Facts, Finding

KEY = "validation"
ROWS = anywhere("validation")
NO_GAIN = "What runs between the steps is not an op of the replayed step."
ADVICE = (
    "Validate less often (validation_freq), on fewer batches (validation_steps) or on larger ones "
    "(validation_batch_size); cache() and prefetch() the validation data, and map() it in parallel."
)


def find(facts: Facts) -> Iterator[Finding]:
    return rows_as_finding(facts, KEY, "validation", "Validation takes", ADVICE)
