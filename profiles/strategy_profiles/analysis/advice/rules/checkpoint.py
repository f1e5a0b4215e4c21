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

from strategy_profiles.analysis.advice.rows import anywhere, rows_as_finding
from strategy_profiles.analysis.facts import Facts, Finding

KEY = "checkpoint"
ROWS = anywhere("checkpoint")
NO_GAIN = "What runs between the steps is not an op of the replayed step."
_PACKS = "savez_compressed("
_NOT_PACKED = "Write without compression: np.savez() takes far less time for a larger file."
ADVICE = (
    "Save less often, or in another thread (for a checkpoint, "
    "tf.train.CheckpointOptions(enable_async=True)); of a model, save the weights alone."
)


def find(facts: Facts) -> Iterator[Finding]:
    packs = any(_PACKS in (row.text or "") for row in facts.account.rows if row.kind == KEY)
    advice = f"{_NOT_PACKED} {ADVICE}" if packs else ADVICE
    return rows_as_finding(facts, KEY, "checkpoint", "Saving takes", advice)
