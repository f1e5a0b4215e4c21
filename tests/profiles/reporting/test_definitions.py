"""Every number that the lab shows has its definition, with its formula and where that is from."""

from __future__ import annotations

import pytest

from strategy_profiles.reporting.definitions import DEFINITIONS, hover_texts
from strategy_profiles.tables.schema import CATEGORIES


def test_every_phase_is_defined() -> None:
    assert set(CATEGORIES) <= set(DEFINITIONS)


@pytest.mark.parametrize("key", DEFINITIONS)
def test_a_hover_says_meaning_formula_and_source(key: str) -> None:
    definition = DEFINITIONS[key]
    assert definition.key == key
    assert definition.label
    for part in (definition.meaning, definition.formula, definition.source):
        assert part in hover_texts()[key]
