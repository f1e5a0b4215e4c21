"""How high a table is, and how it shows that it has further rows."""

from __future__ import annotations

import pytest

from strategy_app.widgets.table import height_px

ROW_PX = height_px(2, 8) - height_px(1, 8)


@pytest.mark.parametrize(("num_rows", "shown"), [(0, 1), (1, 1), (8, 8), (9, 8.5), (500, 8.5)])
def test_a_table_with_further_rows_ends_within_a_row(num_rows: int, shown: float) -> None:
    assert height_px(num_rows, 8) == pytest.approx(height_px(1, 8) + (shown - 1) * ROW_PX, abs=1)
