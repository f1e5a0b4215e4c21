"""The style sheets are whole: a block that is not closed takes in all rules after it."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_app

SHEETS = sorted(
    sheet
    for sheet in Path(strategy_app.__file__).parent.rglob("*.css")
    if not sheet.name.endswith(".min.css")
)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: f"{sheet.parent.name}/{sheet.name}")
def test_each_block_of_a_style_sheet_is_closed_before_the_next_top_level_rule(sheet: Path) -> None:
    depth = 0
    for number, line in enumerate(sheet.read_text().splitlines(), 1):
        if line.startswith(("@", ".", "#", ":")):
            assert depth == 0, f"{sheet.name}:{number} is inside of a block that is not closed"
        depth += line.count("{") - line.count("}")
    assert depth == 0
