"""The Step film page says so where its address names a step that the run cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.app.looking import open_page, rerun
from tests.synthetic import write_run

CAPTURED = range(1, 5)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    runs = tmp_path_factory.mktemp("runs")
    write_run(runs / "one", steps=20, windows=1, window_steps=4)
    write_run(runs / "other", steps=40, windows=2, window_steps=4)
    return runs


def warnings(page: AppTest) -> list[str]:
    return [item.value.replace("\\", "") for item in page.warning]


def in_address(page: AppTest, name: str) -> str:
    """What the address has: a text as the test wrote it, or a list as the page did."""
    value = page.query_params[name]
    return value if isinstance(value, str) else value[0]


@pytest.mark.parametrize("step", ["17", "seven", "<img>"])
def test_a_step_that_the_run_cannot_show_is_named_with_the_one_shown(runs: Path, step: str) -> None:
    page = open_page("film", runs, run="one", step=step)
    (said,) = warnings(page)
    shown_step = in_address(page, "step")
    assert int(shown_step) in CAPTURED
    assert said == f"This run has no captured step {step}. The film is of step {shown_step}."


def test_a_step_that_was_captured_is_shown_without_a_word(runs: Path) -> None:
    page = open_page("film", runs, run="one", step="3")
    assert warnings(page) == []
    assert in_address(page, "step") == "3"


def test_the_step_of_the_run_before_is_no_mistake_of_the_reader(runs: Path) -> None:
    page = open_page("film", runs, run="other", step="20")
    page.selectbox("pick_run").set_value("one")
    rerun(page)
    assert in_address(page, "run") == "one"
    assert warnings(page) == []
