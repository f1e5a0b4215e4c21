"""The page on the run folder says what readers and writers do."""

from __future__ import annotations

from pathlib import Path

from strategy_lab.profiles.run.reference import reference

PAGE = Path(__file__).parents[3] / "docs" / "run-folder.md"


def test_the_page_is_that_of_the_schema() -> None:
    assert PAGE.read_text("utf-8") == reference(), (
        "python -m strategy_lab.profiles.run.reference > docs/run-folder.md"
    )
