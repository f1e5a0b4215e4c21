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
from strategy_profiles.answers.text import by_group, cell_text, is_text
from strategy_profiles.reporting import units

MOST_ROWS, MOST_SEARCHED = 10, 5_000
LONGEST = 200
"""Characters of a cell."""
GIGA = 1e9
LARGE_B = 1e7
"""A column with as many bytes has a unit in which its numbers are short."""
MOST_LINES = 20
"""A longer table with lists of names cuts them, and does not write them on several lines."""
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
    chooses = chooses or bool(table.details)
    has_lists = any(column.unit == "names" for column in table.columns)
    is_short = len(table.rows) <= MOST_LINES and not (chooses or table.is_searched)
    if table.is_ordered or (has_lists and is_short):
        _show_parts(table)
        return None
    return _show_grid(table, chooses=chooses)


def _show_grid(table: Table, *, chooses: bool) -> int | None:
    rows = list(_searched(table)) if table.is_searched else list(enumerate(table.rows))
    drawn = rows[:MOST_SEARCHED]
    columns = {
        column.key: _column(column, index, [row[index] for _, row in drawn], px)
        for index, (column, px) in enumerate(zip(table.columns, widths_px(table), strict=True))
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
    """A table that is not to be sorted: HTML, drawn at once, with line breaks."""
    st.html(
        html_table(
            [column.title for column in table.columns],
            [
                [
                    plain(cell_text(value, column.unit), LONGEST)
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


def widths_px(table: Table) -> list[int]:
    """Widths of columns: words have what they take, and names share what all others leave."""
    rows = table.rows[:MOST_SEARCHED]
    taken = [_WIDTHS[column.unit] for column in table.columns]
    for index, column in enumerate(table.columns):
        if column.unit in ("text", "name"):
            longest = max((len(str(row[index])) for row in rows), default=0)
            taken[index] = max(taken[index], grid.fitted_px(longest))
    is_name = [column.unit == "name" for column in table.columns]
    others = sum(px for px, name in zip(taken, is_name, strict=True) if not name)
    widest_px = max((grid.PAGE_PX - others) // max(sum(is_name), 1), _WIDTHS["name"])
    return [min(px, widest_px) if name else px for px, name in zip(taken, is_name, strict=True)]


def _column(column: Column, index: int, values: Sequence[Value], width_px: int) -> grid.Column:
    title, options = column.title, {"width": width_px, "help": column.hint or None}
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
    if unit == "bytes" and most >= LARGE_B:
        scale, name = units.size_unit(most)
        factor, suffix = 1 / scale, f", {name}"
    elif unit == "gbps":
        scale, name = units.size_unit(most * GIGA)
        factor, suffix = GIGA / scale, f", {name}/s"
    elif unit == "share":
        factor = 100.0
    if unit == "count" or (unit == "bytes" and factor == 1.0) or most * factor >= 999.5:
        return _Scaled(suffix, factor, "localized")
    rounded = [units.rounded(value * factor) for value in known]
    decades = {floor(log10(value)) for value in rounded if value}
    # `%.3g` leaves out the zeros at the end: 84 beside 96.3.
    is_even = len(decades) == 1 and max(decades) <= 2
    return _Scaled(suffix, factor, f"%.{2 - max(decades)}f" if is_even else "%.3g")
