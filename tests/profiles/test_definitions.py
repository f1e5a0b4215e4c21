"""Every number that an analysis or a table gives has its definition."""

from __future__ import annotations

import pytest

from profiles.definitions import DEFINITIONS, sentence
from profiles.schema import CATEGORIES


def test_every_phase_is_defined() -> None:
    assert set(CATEGORIES) <= set(DEFINITIONS)


@pytest.mark.parametrize("name", DEFINITIONS)
def test_a_definition_is_whole(name: str) -> None:
    found = DEFINITIONS[name]
    assert found.title
    assert found.text.endswith(".")
    assert found.formula in sentence(name)
    assert found.source in sentence(name)
