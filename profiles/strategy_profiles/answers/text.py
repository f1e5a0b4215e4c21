"""The cells of a table as text: each number with its unit, three significant digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from strategy_profiles.answers.answer import Table, Unit, Value
from strategy_profiles.reporting import units

_WRITTEN: dict[str, Callable[[Any], str]] = {
    "number": units.number,
    "s": units.seconds,
    "ms": units.milliseconds,
    "bytes": units.size,
    "gbps": units.bandwidth,
    "share": units.share,
}
MOST_ROWS, MOST_SEARCHED = 16, 40
"""Rows of a table where all of it is printed; the second of one that has thousands."""


def cell_text(value: Value, unit: Unit) -> str:
    """Return a cell as text; a dash for a missing value."""
    if value is None:
        return units.MISSING
    if isinstance(value, str):
        return value
    if unit == "count":
        return f"{value:,}"
    return _WRITTEN[unit](value) if unit in _WRITTEN else str(value)


def is_text(unit: Unit) -> bool:
    """Whether a column of this unit holds words."""
    return unit in ("text", "name", "names")


def sorted_by(value: Value, unit: Unit) -> float | None:
    """Return the number that a cell is sorted by; None for words and missing values."""
    return None if is_text(unit) or isinstance(value, str) else value


def by_group(table: Table) -> Iterator[tuple[str, slice]]:
    """Yield each heading of a table's rows with the rows below it; all rows below none."""
    start = 0
    for group, rows in groupby(table.groups or ("",) * len(table.rows)):
        stop = start + len(list(rows))
        yield group, slice(start, stop)
        start = stop


def most_rows(table: Table) -> int:
    """Return how many of a table's rows are printed."""
    if table.is_ordered:
        return len(table.rows)
    return MOST_SEARCHED if table.is_searched else MOST_ROWS


def rows_left_out(table: Table) -> str:
    """Return what follows the title of a table whose last rows are left out."""
    most = most_rows(table)
    return f": the first {most} of {len(table.rows):,}" if len(table.rows) > most else ""
