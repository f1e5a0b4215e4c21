"""Steps take longer and longer.

## What it does

Compares the median step of each quarter of the run: each one is longer than the one before, and the
last one is twice as long as the first, or more; 1.4 times is enough where the lengths follow the
order of the steps (a rank correlation of 0.8). Of 64 steps or more, no eighth is much shorter than
the one before. Steps with fewer examples, and those that begin an epoch, are left out. Not if other
programs used a tenth of the cores or more, or another thread of the program runs Python. Names a
line of the program between the steps that adds to a tensor or a list, if one was sampled; else the
op that takes longer in the later half of the captured steps than in the earlier one.

## Why is this slow

What each step adds to, such as a bank of keys that is concatenated, makes the next step's ops
larger. The memory grows with it.

## What to do

Keep a fixed number of rows: a `tf.Variable` of that size, of which each step writes some rows. Or
keep a running sum, or a metric.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from strategy_profiles.analysis.account.op_time import at_place
from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.advice.rules import busy_thread
from strategy_profiles.analysis.advice.rules.unsteady import of_full_batches_ms
from strategy_profiles.analysis.facts import Facts, Finding, finding, over_all_steps
from strategy_profiles.analysis.growth import growth
from strategy_profiles.reporting import units

KEY = "growing-steps"
ROWS = ("loop/steps",)
NO_GAIN = "A replay predicts the median step."
ADVICE = (
    "Look for what each step adds to, such as a tensor that is concatenated or a list, and keep a "
    "fixed number of rows (a tf.Variable of that size, of which each step writes some), a running "
    "sum or a metric. Or compute with all of it once an epoch."
)
PART_OF_GROWTH = 0.2
"""Of what a step takes longer at the end: an op that grows by less is not named."""
ADDS = re.compile(r"\b(?:concat|concatenate|append|extend|stack|vstack|hstack)\(|\+=")


def find(facts: Facts) -> Iterator[Finding]:
    lengths_ms = of_full_batches_ms(facts)
    grown = growth(lengths_ms)
    if grown is None or not facts.breakdown.is_in_sync or (facts.load and facts.load.is_notable):
        return
    if busy_thread.is_notable(facts):  # steps that wait for Python's lock vary for long at a time
        return
    line = adding_line(facts)
    where = f" Between steps, {said_of_adding(line)}" if line else ""
    else_where = "" if line else _op_that_grows(facts, grown[1] - grown[0])
    first, last = map(units.milliseconds, grown)
    more_ms = float((lengths_ms - grown[0]).clip(min=0.0).sum())
    yield finding(
        facts,
        KEY,
        f"Steps take longer and longer: {first} in the first quarter of the steps, {last} in the "
        f"last.{where}{else_where}",
        ADVICE,
        over_all_steps(facts, more_ms, "derived"),
        place=line.place if line else None,
        grows_ms=list(grown),
    )


def adding_line(facts: Facts) -> Row | None:
    """The longest sampled line that adds to a tensor or a list."""
    lines = [row for row in facts.account.rows if row.place and ADDS.search(row.text or "")]
    return max(lines, key=lambda row: row.total_ms, default=None)


def said_of_adding(line: Row) -> str:
    return f"{line.place} (`{line.text}`) adds to a tensor or a list."


def _op_that_grows(facts: Facts, longer_ms: float) -> str:
    """` `TopKV2` at train.py:24 grows most.`; empty if no op makes enough of the difference."""
    op = facts.read_growing_op()
    if op is None or op.longer_ms < PART_OF_GROWTH * longer_ms:
        return ""
    at = at_place(op.line)
    return (
        f" Of its ops `{op.op}`{at} grows most: by {units.milliseconds(op.longer_ms)} a step from "
        "the earlier half of the captured steps to the later one."
    )
