"""A line of the program takes long before training begins.

## What it does

Adds what each line of the program takes before the loop, with the functions that it calls, without
imports and without the making of a strategy, which waits for other processes: the longest one, if
it takes 20 % of the program, and 5 s, or 2 s if it is `adapt` or takes longer than the loop. A line
that it calls is named instead if it takes 70 % of that time. It is the headline from 6 s on, if
that is half of the program without its imports, and `adapt`, or what takes longer than the loop,
from a quarter of the program on.

## Why is this slow

`adapt` of a preprocessing layer calls Python for each element of its dataset: for each row, if the
dataset has no batches. Reading and converting the data in Python is done again in every run.

## What to do

Batch the dataset that a layer adapts to, or give the layer its vocabulary or mean. Keep what is
the same in each run: the arrays in a file, the dataset by `save`, the model's weights.
"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.analysis.advice.line_advice import advice_on_line
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.analysis.longest_before import LongestBefore
from strategy_profiles.reporting import units
from strategy_profiles.run.event_parts import StackFrame

KEY = "before-training"
ROWS = ("program/before",)
NO_GAIN = "What comes before the loop is not a part of a step."
SHORTEST_MS, SHARE = 5000.0, 0.2
"""Least time of a line, and least share of the program."""
SHORTEST_OF_LARGE_MS = 2000.0
"""Of what takes longer than the loop, and of `adapt`, which one line mends: with batches a program
that adapted for 16 s was 3.4 times as fast."""
_ADAPTS = ".adapt"
_IMPORTS = ("program/before/start", "program/before/import")
_KEPT = " its result, in a file or a dataset that is saved (`save`), and read it in later runs."
_ANY_LOOP = (
    " If it is a Python loop over the data, compute with whole NumPy arrays, or in the dataset's "
    "map()."
)
_ADVICE_ON_ADAPT = (
    "Give adapt() a dataset with batches (`.batch(1024)`) or an array: it calls Python for each "
    "element. Or give the layer its vocabulary, or its mean and variance, when it is made."
)


def find(facts: Facts) -> Iterator[Finding]:
    longest = facts.read_longest_before()
    cost = facts.account.cost_of_program(longest.ms, "sampled") if longest else None
    if longest is None or cost is None or cost.share < SHARE:
        return
    of_loop = longest.ms / (facts.account.loop_ms or longest.ms)
    is_large = _ADAPTS in longest.call or of_loop > 1.0
    if longest.ms < (SHORTEST_OF_LARGE_MS if is_large else SHORTEST_MS):
        return
    yield finding(
        facts,
        KEY,
        f"Before training begins, {_line_text(longest.line)} takes "
        f"{units.seconds(longest.ms / 1e3)}{_most_of_it(longest)}: "
        f"{units.share(cost.share)} of the program. The loop itself takes "
        f"{units.seconds((facts.account.loop_ms or 0.0) / 1e3)}.",
        _advice(facts, longest),
        cost,
        place=longest.line.place,
        once_ms=longest.ms,
        of_loop=of_loop,
        can_be_mended=is_large,
        once_share=_share_without_imports(facts, longest.ms),
    )


def _advice(facts: Facts, longest: LongestBefore) -> str:
    if _ADAPTS in longest.call:
        return _ADVICE_ON_ADAPT
    advice = advice_on_line(facts, longest.inner or longest.line, each_step=False)
    return f"{advice} Or keep{_KEPT}" if advice else f"Keep{_KEPT}{_ANY_LOOP}"


def _line_text(line: StackFrame) -> str:
    return f"{line.place} (`{line.text}`)" if line.text else line.place


def _most_of_it(longest: LongestBefore) -> str:
    if longest.inner is None:
        return ""
    part = units.share(longest.inner_ms / longest.ms)
    return f", {part} of it at {_line_text(longest.inner)}"


def _share_without_imports(facts: Facts, took_ms: float) -> float:
    """Share of the program after TensorFlow's import, and without others: no remedy gains these."""
    rows = facts.account.rows
    imports_ms = sum(row.total_ms for row in rows if row.row in _IMPORTS)
    program = facts.account.row("program")
    left_ms = (program.total_ms if program else 0.0) - imports_ms
    return min(1.0, took_ms / left_ms) if left_ms > 0 else 1.0
