"""Tables of a page: what a column is called, what it holds and how it is written, in one place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from strategy_app.server.first_style import RESERVED_ROWS, ROW_PX, grid_px
from strategy_app.widgets.html_table import grid_as_html, row_title

PAGE_PX = 1165
"""Width that a window of 1280 px has for columns, beside the boxes that choose rows."""
WIDEST_PX, _LETTER_PX, _PADDING_PX = 380, 7, 16
USUAL_ROWS = 10
"""So many rows Streamlit shows of a table without a height."""
WRAPPED_PX = 65
"""Height of rows, above 4 rem, in which Streamlit breaks lines: its cells have no tooltips."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its configuration for Streamlit, and the value of an item in it."""

    config: Any
    value: Callable[[Any], object]


def text(title: str, value: Callable[[Any], object], **options: Any) -> Column:
    return Column(st.column_config.TextColumn(title, **options), value)


def number(title: str, value: Callable[[Any], object], **options: Any) -> Column:
    """`options` are those of Streamlit's `NumberColumn`, such as `format`."""
    return Column(st.column_config.NumberColumn(title, **options), value)


def show_table(
    key: str,
    items: Sequence[Any],
    columns: Mapping[str, Column],
    *,
    most_rows: int | None = None,
    **options: Any,
) -> Any:
    """Draw a row per item; a value of None is shown as a dash. A phone shows a list.

    The table scrolls if it has more than `most_rows`. `options` and the result are those of
    `st.dataframe`.
    """
    return _show(key, _values(items, columns), columns, most_rows, **options)


def show_selectable_table(
    key: str,
    items: Sequence[Any],
    columns: Mapping[str, Column],
    *,
    most_rows: int | None = None,
) -> Any:
    """The same; returns the item whose row is selected, or None. A phone has a select box."""
    values, configs = _values(items, columns), _configs(columns)
    options = {"on_select": "rerun", "selection_mode": "single-row"}
    event = _show(key, values, columns, most_rows, **options)
    named = st.container(key=f"narrow_{key}_row").selectbox(
        "Choose a row",
        range(len(items)),
        index=None,
        format_func=lambda row: row_title(values, configs, row),
        key=f"{key}_row",
    )
    rows = event.selection.rows if event else []
    row = rows[0] if rows else named
    return items[row] if row is not None and row < len(items) else None


def phone_list(
    key: str,
    values: Mapping[str, Sequence[object]],
    configs: Mapping[str, Any],
    *,
    shown_rows: int = 1,
    **options: Any,
) -> DeltaGenerator:
    """Draw the list that a phone shows; return the place of the grid that wide windows show.

    Room for `shown_rows` is reserved there, so that nothing moves once the browser has loaded what
    draws grids. `options` are those of `grid_as_html`.
    """
    with st.container(key=f"narrow_{key}"):
        st.html(grid_as_html(values, configs, **options))
    reserved = min(max(shown_rows, 1), RESERVED_ROWS)
    return st.container(key=f"wide_{key}").container(key=f"grid_rows_{reserved:02d}_{key}")


def fitted_px(longest: int) -> int:
    """Width of a column whose longest text has so many characters."""
    return min(_PADDING_PX + _LETTER_PX * longest, WIDEST_PX)


def letters_in(width_px: int) -> int:
    """So long is a text for which a column of this width is fitted."""
    return (width_px - _PADDING_PX) // _LETTER_PX


def has_cut(values: Iterable[object], width_px: object) -> bool:
    """Whether the column has too little space for one of its texts."""
    limit = letters_in(width_px) if isinstance(width_px, int) else None
    return any(limit is not None and isinstance(one, str) and len(one) > limit for one in values)


def height_px(num_rows: float, most_rows: int) -> int:
    """Height of a table; half of a row below the last one shows that it scrolls."""
    return grid_px(max(num_rows, 1) if num_rows <= most_rows else most_rows + 0.5)


def _values(items: Sequence[Any], columns: Mapping[str, Column]) -> dict[str, list[object]]:
    return {name: [column.value(item) for item in items] for name, column in columns.items()}


def _configs(columns: Mapping[str, Column]) -> dict[str, Any]:
    return {name: column.config for name, column in columns.items()}


def _show(
    key: str,
    values: Mapping[str, list[object]],
    columns: Mapping[str, Column],
    most_rows: int | None,
    **options: Any,
) -> Any:
    num_rows: float = len(next(iter(values.values()), []))
    configs = _configs(columns)
    most = USUAL_ROWS if most_rows is None else most_rows
    is_cut = any(has_cut(column, configs[name].get("width")) for name, column in values.items())
    if is_cut:
        options["row_height"] = WRAPPED_PX
        num_rows *= WRAPPED_PX / ROW_PX
    if is_cut or most_rows is not None:
        options["height"] = height_px(num_rows, most)
    return phone_list(key, values, configs, shown_rows=ceil(min(num_rows, most))).dataframe(
        pd.DataFrame(values),
        column_config=configs,
        hide_index=True,
        placeholder="–",
        key=key,
        **options,
    )
