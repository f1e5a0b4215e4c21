"""The loop stalls when an epoch begins.

## What it does

Takes the time between steps in which the program makes an iterator over its data, or frees the last
one: 5 % of the loop or more. It is sampled, at the line of the program that iterates.

## Why is this slow

A new iterator starts the input pipeline again: threads, buffers, the first batch. Freeing the last
one waits for its threads, for seconds where other programs use the cores. Under a strategy each
epoch pays for both, and no replica works meanwhile.

## What to do

Iterate once, over `dataset.repeat()`, and count the steps of an epoch; in Keras, `fit` with
`steps_per_epoch` over such a dataset. An iterator per step belongs before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.rows import at_line, cost_of, how_long, large_rows
from strategy_profiles.analysis.facts import Facts, Finding, finding

KEY = "epoch-start"
ROWS = ("loop/between/epoch-start",)
NO_GAIN = "What runs between the steps is not an op of the replayed step."


def find(facts: Facts) -> Iterator[Finding]:
    for row in large_rows(facts, "epoch-start"):
        is_each_step = (row.num_times or 0) > facts.account.num_steps / 2
        when = "Between steps" if is_each_step else "Between epochs"
        yield finding(
            facts,
            KEY,
            f"{when} the loop stalls while an iterator over the data is made or freed"
            f"{at_line(facts, row)}: {how_long(facts, row)}.",
            _advice(row.text or "", is_each_step=is_each_step),
            cost_of(facts, row),
            place=row.place,
        )


def _advice(text: str, *, is_each_step: bool) -> str:
    if is_each_step:
        return "Make one iterator before the loop, and take the batch of each step from it."
    if ".fit(" in text:
        return "Give fit() a dataset that repeats (`dataset.repeat()`) and `steps_per_epoch`."
    return "Iterate once over `dataset.repeat()`, and count the steps of an epoch."
