"""A table of an answer on a page: sortable, a list on a phone, its numbers by their unit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Any

import streamlit as st

from strategy_app.widgets import table as grid
from strategy_app.widgets.html_table import html_table
from strategy_app.widgets.text import as_markdown, plain
from strategy_profiles.answers.answer import Column, Table, Unit, Value
from strategy_profiles.answers.text import by_group, is_text, written
from strategy_profiles.reporting import units

MOST_ROWS, MOST_SEARCHED = 10, 5_000
LONGEST = 200
"""Characters of a cell."""
GIGA = 1e9
PAGE_PX = 1165
"""Width that a window of 1280 px has for columns, beside the boxes that choose rows."""
WIDEST_PX, _LETTER_PX, _PADDING_PX = 380, 7, 16
_WIDTHS: dict[Unit, int] = {
    "text": 78, "name": 130, "names": 420, "figure": 130, "count": 52, "number": 65, "s": 72,
    "ms": 84, "bytes": 92, "gbps": 92, "share": 80,
}  # fmt: skip
_SUFFIXES: dict[Unit, str] = {"s": ", s", "ms": ", ms", "bytes": ", B", "share": ", %"}


def show_table(table: Table, *, chooses: bool = False) -> int | None:
    """Draw a table; return the place of the row that the reader chose, if rows have details or the
    caller has something to show of a row (`chooses`)."""
    if not table.rows:
        st.markdown(as_markdown(table.empty))
        return None
    if table.is_ordered:
        _show_parts(table)
        return None
    return _show_grid(table, chooses=chooses or bool(table.details))


def _show_grid(table: Table, *, chooses: bool) -> int | None:
    rows = list(_searched(table)) if table.is_searched else list(enumerate(table.rows))
    drawn = rows[:MOST_SEARCHED]
    widest_px = _widest_name_px(table.columns)
    columns = {
        column.key: _column(column, index, [row[index] for _, row in drawn], widest_px)
        for index, column in enumerate(table.columns)
    }
    key, chosen = f"table_{table.key}", None
    if chooses:
        chosen = grid.show_selectable_table(key, drawn, columns, most_rows=MOST_ROWS)
    else:
        grid.show_table(key, drawn, columns, most_rows=MOST_ROWS)
    if table.is_searched:
        st.caption(f"{len(drawn):,} of {units.counted(len(table.rows), 'row')}.")
    if table.details and chosen is None:
        st.caption("Choose a row to see it by itself.")
    return None if chosen is None else chosen[0]


def _show_parts(table: Table) -> None:
    """A table whose rows are parts of others, which cannot be sorted: HTML, drawn at once."""
    st.html(
        html_table(
            [column.title for column in table.columns],
            [
                [
                    plain(written(value, column.unit), LONGEST)
                    for column, value in zip(table.columns, row, strict=True)
                ]
                for row in table.rows
            ],
            texts=[column.title for column in table.columns if is_text(column.unit)],
            name=table.title,
            depths=table.depths,
            groups=list(by_group(table)),
        )
    )


def _searched(table: Table) -> list[tuple[int, tuple[Value, ...]]]:
    """The rows in which a cell holds what the reader searches."""
    names = [column.title.lower() for column in table.columns if is_text(column.unit)]
    wanted = st.text_input(f"Search by {units.listed(names[:3])}", key=f"search_{table.key}")
    wanted = wanted.casefold()
    return [
        (index, row)
        for index, row in enumerate(table.rows)
        if any(wanted in str(cell).casefold() for cell in row)
    ]


def _widest_name_px(columns: Sequence[Column]) -> int:
    """Width of a column of names beside which all others are in sight."""
    others = [_WIDTHS[column.unit] for column in columns if column.unit != "name"]
    left = (PAGE_PX - sum(others)) // max(len(columns) - len(others), 1)
    return min(max(left, _WIDTHS["name"]), WIDEST_PX)


def _column(column: Column, index: int, values: Sequence[Value], widest_px: int) -> grid.Column:
    title, options = (
        column.title,
        {"width": _WIDTHS[column.unit], "help": column.hint or None},
    )
    if column.unit == "name":  # two of them may differ at their ends
        longest = max((len(str(value)) for value in values), default=0)
        options["width"] = min(max(_WIDTHS["name"], _PADDING_PX + _LETTER_PX * longest), widest_px)
    if is_text(column.unit) or column.unit == "figure":
        return grid.text(title, lambda item: _cell(item[1][index]), **options)
    known = [abs(value) for value in values if isinstance(value, int | float)]
    scaled = _scaled(column.unit, known)
    return grid.number(
        f"{title}{scaled.suffix}",
        lambda item: scaled.value(item[1][index]),
        format=scaled.format,
        **options,
    )


def _cell(value: Value) -> str | None:
    return None if value is None else plain(value, LONGEST)


@dataclass(frozen=True, slots=True)
class _Scaled:
    suffix: str
    factor: float
    format: str

    def value(self, value: Any) -> float | None:
        if value is None:
            return None
        return units.rounded(value * self.factor)


def _scaled(unit: Unit, known: Collection[float]) -> _Scaled:
    """How the numbers of a column are written: in one unit, so that they compare digit by digit,
    and with three digits, of thousands with all."""
    most = max(known, default=0.0)
    factor, suffix = 1.0, _SUFFIXES.get(unit, "")
    if unit == "gbps":
        scale, name = units.size_unit(most * GIGA)
        factor, suffix = GIGA / scale, f", {name}/s"
    elif unit == "share":
        factor = 100.0
    if unit in ("count", "bytes") or most * factor >= 999.5:
        return _Scaled(suffix, factor, "localized")
    shown = [units.rounded(value * factor) for value in known]
    decades = {floor(log10(value)) for value in shown if value}
    # `%.3g` leaves out the zeros at the end: 84 beside 96.3.
    is_even = len(decades) == 1 and max(decades) <= 2
    return _Scaled(suffix, factor, f"%.{2 - max(decades)}f" if is_even else "%.3g")
