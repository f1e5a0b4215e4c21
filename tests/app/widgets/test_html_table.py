"""Tables on a phone are lists: each value with its column's name, written as in the grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from strategy_app.widgets.html_table import MOST_ROWS, grid_as_html, grid_text, row_title
from tests.app.looking import open_page
from tests.synthetic import HOSTILE, write_run


@pytest.mark.parametrize(
    ("value", "form", "expected"),
    [
        (None, "%.2f", "–"),
        (float("nan"), None, "–"),
        (1.5, "%.2f×", "1.50×"),
        (1234567, "localized", "1,234,567"),
        (np.int64(12), "%d", "12"),
        (0.123456789, None, "0.123457"),
        ("relu", None, "relu"),
        (["Conv2D 2", "Relu 3"], None, "Conv2D 2, Relu 3"),
        (False, None, "False"),
    ],
)
def test_a_value_is_written_as_in_the_grid(value: object, form: str | None, expected: str) -> None:
    assert grid_text(value, form) == expected


def test_a_list_has_the_first_rows_and_says_how_many_are_left_out() -> None:
    configs = {
        "op": st.column_config.TextColumn("Op"),
        "ms": st.column_config.NumberColumn("Time, ms", format="%.1f"),
    }
    found = grid_as_html({"op": [HOSTILE] * 50, "ms": [2.0] * 50}, configs)
    assert found.count('<th scope="row"') == MOST_ROWS
    assert "30 more rows on a wider screen" in found
    assert '<td data-label="Time, ms">2.0</td>' in found
    assert "<script>" not in found


def test_the_beginning_of_a_long_grid_says_how_many_rows_follow() -> None:
    found = grid_as_html({"op": ["Relu"]}, {}, more=". Search for a name.", num_rows=12_345)
    assert "12,344 more rows. Search for a name." in found


def test_an_entry_that_begins_with_a_number_differs_from_one_with_a_name() -> None:
    """The list writes the column's title before a number: `Core 1`."""
    found = grid_as_html({"core": [1]}, {})
    assert '<th scope="row" data-label="core">1</th>' in found
    assert '<th scope="row" class="text" data-label="op">Relu</th>' in grid_as_html(
        {"op": ["Relu"]}, {}
    )


def test_a_row_is_named_by_its_first_values() -> None:
    values = {"op": ["all-reduce"], "name": ["Reduce_1"], "call": [2], "ms": [3.0]}
    assert row_title(values, {}, 0) == "all-reduce · Reduce_1 · 2"


def test_a_page_has_each_table_as_a_list_too(tmp_path: Path) -> None:
    write_run(tmp_path / "run", steps=40, windows=1)
    page = open_page("placement", tmp_path, run="run")
    lists = [item.proto.body for item in page.get("html") if "lab-table" in item.proto.body]
    assert any('data-label="Commonest op types"' in each for each in lists)
    assert any('data-label="Op type"' in each for each in lists)


def test_a_phone_chooses_a_row_in_a_select_box(tmp_path: Path) -> None:
    write_run(tmp_path / "run", steps=40, windows=1)
    page = open_page("communication", tmp_path, run="run")
    box = page.selectbox("table_collectives_row")
    assert len(box.options) == 2
    box.set_value(1).run()
    assert any("reduce 2, " in caption.value for caption in page.caption)
