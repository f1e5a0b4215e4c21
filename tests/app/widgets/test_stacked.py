"""Tables on a phone are lists: each value with its column's name, written as in the grid."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import streamlit as st

from strategy_lab.app.widgets.stacked import MOST_ROWS, stacked, written
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
    assert written(value, form) == expected


def test_a_row_is_an_entry_and_a_long_table_says_how_many_are_left_out() -> None:
    configs = {
        "op": st.column_config.TextColumn("Op"),
        "ms": st.column_config.NumberColumn("Time, ms", format="%.1f"),
    }
    found = stacked({"op": [HOSTILE] * 50, "ms": [2.0] * 50}, configs)
    assert found.count("<section>") == MOST_ROWS
    assert "10 more rows" in found
    assert "<dt>Time, ms</dt><dd>2.0</dd>" in found
    assert "<script>" not in found


def test_an_entry_that_begins_with_a_number_says_of_what() -> None:
    configs = {name: st.column_config.NumberColumn(name.capitalize()) for name in ("core", "ops")}
    assert "<b>Core 1</b>" in stacked({"core": [1], "ops": [7]}, configs)


def test_a_page_has_each_table_as_a_list_too(tmp_path: Path) -> None:
    write_run(tmp_path / "run", steps=40, windows=1)
    page = open_page("placement", tmp_path, run="run")
    lists = [item.proto.body for item in page.get("html") if "lab-stacked" in item.proto.body]
    assert lists
    assert "<dt>Ops</dt>" in lists[0]
