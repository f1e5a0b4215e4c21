"""A line of the program takes long before training begins.

## What it does

Adds what each line of the program takes before the loop, without imports and without the making of
a strategy, which waits for other processes: the longest one, if it takes 5 s and 20 % of the
program. It is the headline from 6 s and half of the program on.

## Why is this slow

`adapt` of a preprocessing layer calls Python for each element of its dataset: for each row, if the
dataset has no batches. Reading and converting the data in Python is done again in every run.

## What to do

Batch the dataset that a layer adapts to, or give the layer its vocabulary or mean. Keep what is
the same in each run: the arrays in a file, the dataset by `save`, the model's weights.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from strategy_profiles.analysis.account.row import Row
from strategy_profiles.analysis.facts import Facts, Finding, finding
from strategy_profiles.reporting import units

KEY = "before-training"
ROWS = ("program/before",)
NO_GAIN = "What comes before the loop is not a part of a step."
SHORTEST_MS, SHARE = 5000.0, 0.2
"""Least time of a line, and least share of the program."""
_ADAPTS = ".adapt"
_ADVICE = (
    "Keep its result, in a file or a dataset that is saved (`save`), and read it in later runs."
)
_ADVICE_ON_ADAPT = (
    "Give adapt() a dataset with batches (`.batch(1024)`) or an array: it calls Python for each "
    "element. Or give the layer its vocabulary, or its mean and variance, when it is made."
)


def find(facts: Facts) -> Iterator[Finding]:
    lines: dict[str, list[Row]] = defaultdict(list)
    for row in facts.account.rows:
        if row.row.startswith("program/before/") and row.place and _is_own(facts, row):
            lines[row.place].append(row)
    if not lines:
        return
    place, rows = max(lines.items(), key=lambda item: _ms(item[1]))
    took_ms, longest = _ms(rows), max(rows, key=lambda row: row.total_ms)
    cost = facts.account.cost_of_program(took_ms, longest.source)
    if cost is None or took_ms < SHORTEST_MS or cost.share < SHARE:
        return
    text = f" (`{longest.text}`)" if longest.text else ""
    yield finding(
        facts,
        KEY,
        f"Before training begins, {place}{text} takes {units.seconds(took_ms / 1e3)}: "
        f"{units.share(cost.share)} of the program. The loop itself takes "
        f"{units.seconds((facts.account.loop_ms or 0.0) / 1e3)}.",
        _ADVICE_ON_ADAPT if _ADAPTS in (longest.call or "") else _ADVICE,
        cost,
        place=place,
        once_ms=took_ms,
    )


def _is_own(facts: Facts, row: Row) -> bool:
    """Whether it is the time of a line alone, which the program could do without."""
    is_strategy = "Strategy" in (row.call or "") and (row.call or "").endswith("__init__")
    is_leaf = not any(child.place for child in facts.account.children(row.row))
    return row.kind != "import" and not is_strategy and is_leaf


def _ms(rows: list[Row]) -> float:
    return sum(row.total_ms for row in rows)
