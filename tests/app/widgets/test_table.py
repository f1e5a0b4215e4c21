"""How high a table is, and how it shows that it has further rows."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.widgets.table import height_px
from tests.app.looking import text_of

ROW_PX = height_px(2, 8) - height_px(1, 8)


@pytest.mark.parametrize(("num_rows", "shown"), [(0, 1), (1, 1), (8, 8), (9, 8.5), (500, 8.5)])
def test_a_table_with_further_rows_ends_within_a_row(num_rows: int, shown: float) -> None:
    assert height_px(num_rows, 8) == pytest.approx(height_px(1, 8) + (shown - 1) * ROW_PX, abs=1)


def test_numbers_of_a_column_have_equal_digits() -> None:
    def shown() -> None:
        from strategy_app.screen.table import show_table
        from strategy_profiles.answers.answer import Column, Table

        columns = (Column("what", "What"), Column("ms", "Time", "ms"))
        show_table(Table("times", "Times", columns, (("fast", 84.0), ("slow", 96.3))))

    text = text_of(AppTest.from_function(shown).run())
    assert "84.0" in text
    assert "96.3" in text
