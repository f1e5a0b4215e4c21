"""Help: every word of the glossary is found, and every page has a place."""

from __future__ import annotations

from pathlib import Path

from strategy_app.widgets import places
from tests.app.looking import ALL, open_page, rerun, text_of


def test_every_page_has_one_place() -> None:
    pages = [page for place in places.places() for page in place.pages]
    assert sorted(pages) == sorted(ALL)


def test_a_word_is_found_by_a_part_of_its_meaning(tmp_path: Path) -> None:
    at = open_page("help", tmp_path)
    assert "straggler" in text_of(at)
    at.text_input(key="search_glossary").set_value("Busiest Link")
    found = text_of(rerun(at))
    assert "Busiest link" in found
    assert "straggler" not in found
    at.text_input(key="search_glossary").set_value("<b>nothing")
    assert "No word or figure matches" in text_of(rerun(at))
