"""Tables of a page: what a column is called, what it holds and how it is written, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import streamlit as st

from strategy_lab.app.widgets.stacked import stacked

_ROW_PX = 35


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


def texts(title: str, value: Callable[[Any], object], **options: Any) -> Column:
    """A column whose values are lists of texts."""
    return Column(st.column_config.ListColumn(title, **options), value)


def show_table(
    key: str,
    items: Sequence[Any],
    columns: Mapping[str, Column],
    *,
    most_rows: int | None = None,
    **options: Any,
) -> Any:
    """Draw a row per item; a value of None is shown as a dash. A phone shows a list (`stacked`).

    The table scrolls if it has more than `most_rows`. `options` and the result are those of
    `st.dataframe`.
    """
    if most_rows is not None:
        options["height"] = 3 + _ROW_PX * (1 + min(max(len(items), 1), most_rows))
    values = {name: [column.value(item) for item in items] for name, column in columns.items()}
    configs = {name: column.config for name, column in columns.items()}
    draw = st.dataframe
    if "on_select" not in options:  # a list has no rows to choose
        draw = st.container(key=f"wide_{key}").dataframe
        st.html(stacked(values, configs))
    return draw(
        pd.DataFrame(values),
        column_config=configs,
        hide_index=True,
        placeholder="–",
        key=key,
        **options,
    )


def show_selectable_table(
    key: str, items: Sequence[Any], columns: Mapping[str, Column], **options: Any
) -> Any:
    """The same; returns the item whose row is selected, or None."""
    event = show_table(
        key, items, columns, on_select="rerun", selection_mode="single-row", **options
    )
    rows = event.selection.rows if event else []
    return items[rows[0]] if rows and rows[0] < len(items) else None
