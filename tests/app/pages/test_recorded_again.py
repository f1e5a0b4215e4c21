"""A traced program, changed and traced again: Why says what it gained, Compare shows the lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.app.looking import open_page, text_of
from tests.synthetic.recorded_again import write_run_of_program


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`unlike` is newer than `before` and of the same file, with other arguments."""
    folder = tmp_path_factory.mktemp("runs")
    write_run_of_program(folder / "before", 1, "data.map(load)", step_ms=40.0)
    write_run_of_program(folder / "unlike", 2, arguments=["--token", "hunter2"])
    write_run_of_program(folder / "after", 3, "data.map(load, 4)", step_ms=20.0)
    return folder


def test_why_says_what_the_change_has_gained_and_links_to_the_lines(runs: Path) -> None:
    at = open_page("overview", runs, run="after")
    assert " times as fast as the run of " in text_of(at)
    links = [item.proto for item in at.get("page_link")]
    queries = [link.query_string for link in links if link.label.startswith("Compare, ")]
    assert queries == ["a=before&b=after"]


def test_a_first_run_has_the_command_to_record_it_again(runs: Path) -> None:
    at = open_page("overview", runs, run="before")
    assert "times as fast" not in text_of(at)
    assert "strategy-lab trace train.py" in [item.value for item in at.code]
    assert "with the same arguments" not in text_of(at)
    assert "with the same arguments" in text_of(open_page("overview", runs, run="unlike"))


def test_compare_begins_with_the_run_before_and_shows_what_has_changed(runs: Path) -> None:
    at = open_page("compare", runs)
    sides = [at.selectbox(key=f"pick_{side}").value for side in "ab"]
    assert sides == ["before", "after"]
    text = text_of(at)
    assert '<div class="gone">-data.map(load)</div><div class="new">+data.map(load, 4)' in text
    assert "Differences between the specs" not in text


def test_a_run_that_was_chosen_is_compared_with_one_of_its_program(runs: Path) -> None:
    at = open_page("compare", runs, a="before")
    assert at.selectbox(key="pick_b").value == "after"
