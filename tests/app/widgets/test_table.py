"""How high a table is, and how it shows that it has further rows."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.screen.table import widths_px
from strategy_app.widgets.table import PAGE_PX, height_px
from strategy_profiles.answers.answer import Column, Table
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


def test_many_bytes_have_a_unit_in_which_they_are_short() -> None:
    def shown() -> None:
        from strategy_app.screen.table import show_table
        from strategy_profiles.answers.answer import Column, Table

        columns = (
            Column("of", "Of"),
            Column("peak", "Peak", "bytes"),
            Column("more", "More", "bytes"),
        )
        show_table(Table("memory", "Memory", columns, (("the process", 1_151_803_392, 4_538),)))

    text = text_of(AppTest.from_function(shown).run())
    for said in ("Peak, GB", "1.15", "More, B", "4,538"):
        assert said in text


def test_a_column_of_words_is_as_wide_as_its_longest_word_and_names_have_what_is_left() -> None:
    columns = (Column("name", "Op", "name"), Column("type", "Type"), Column("ms", "Time", "ms"))
    op = "SparseSoftmaxCrossEntropyWithLogits"
    name_px, type_px, _ = widths_px(Table("ops", "Ops", columns, (("a" * 200, op, 1.0),)))
    assert type_px >= 7 * len(op)
    assert name_px + type_px < PAGE_PX


def test_a_list_of_names_has_several_lines() -> None:
    def shown() -> None:
        from strategy_app.screen.table import show_table
        from strategy_profiles.answers.answer import Column, Table

        columns = (Column("device", "Device", "name"), Column("types", "Op types", "names"))
        show_table(Table("devices", "Devices", columns, (("CPU:0", "MatMul 7, Mul 6"),)))

    at = AppTest.from_function(shown).run()
    assert not at.dataframe
    assert '<td class="text" data-label="Op types">MatMul 7, Mul 6</td>' in text_of(at)
