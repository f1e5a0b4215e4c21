"""How often a run that goes on is read for its cause, and up to which size."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.screen import cause_so_far
from tests.app.looking import text_of
from tests.synthetic import write_run
from tests.synthetic.stacks import stack_place

PAGE = """
from pathlib import Path
from strategy_app.screen.cause_so_far import show_cause_so_far
show_cause_so_far(Path({run!r}), is_over=False)
"""


@pytest.fixture
def page(tmp_path: Path) -> AppTest:
    run = write_run(tmp_path / "run", steps=40, ending=None)
    return AppTest.from_string(PAGE.format(run=str(run)))


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The runs that were read, in order."""
    runs: list[Path] = []
    read = cause_so_far._read

    def counted(path: Path, *, is_over: bool) -> cause_so_far._CauseSoFar:
        runs.append(path)
        return read(path, is_over=is_over)

    monkeypatch.setattr(cause_so_far, "_read", counted)
    return runs


def test_a_run_that_goes_on_is_read_for_a_small_share_of_the_time(
    page: AppTest, reads: list[Path]
) -> None:
    page.run()
    page.run()
    assert len(reads) == 1, "the second look comes within 20 times what the first took"
    assert "Where the loop's time goes" in text_of(page)


def test_what_is_known_is_said_at_once_and_the_cause_has_its_place(tmp_path: Path) -> None:
    begun = write_run(tmp_path / "begun", steps=0, windows=0, ending=None)
    said = text_of(AppTest.from_string(PAGE.format(run=str(begun))).run())
    assert "Before the first step, mirrored on 4 replicas" in said
    assert cause_so_far.UNKNOWN in said
    assert "Where the loop's time goes" not in said, "empty headings tell nothing"
    run = write_run(tmp_path / "run", steps=40, ending=None)
    said = text_of(AppTest.from_string(PAGE.format(run=str(run))).run())
    assert "After 40 steps, mirrored on 4 replicas" in said
    assert "the loop takes" in said


def test_a_run_without_a_further_step_says_where_to_look_further(tmp_path: Path) -> None:
    where = stack_place("python", 31, "lock.acquire()")
    gaps = [(39, 30_000.0, where)]
    run = write_run(tmp_path / "run", steps=40, ending=None, gaps=gaps, straggler=(2, 30.0))
    said = text_of(AppTest.from_string(PAGE.format(run=str(run))).run())
    assert "No step for 30.0" in said
    assert "train.py:31" in said
    assert said.count("Try:") == 1
    assert "Try: Look at what this line waits for" in said


def test_another_configuration_is_read_at_once(tmp_path: Path, reads: list[Path]) -> None:
    run = write_run(tmp_path / "run", steps=40, ending=None)
    text = PAGE.format(run=str(run))
    page = AppTest.from_string(text.replace("is_over=False", "is_over=False, num_segments=2"))
    page.session_state[f"cause_so_far {run}"] = (1, cause_so_far._CauseSoFar(1e12, 40))
    page.run()
    page.run()
    assert len(reads) == 1


def test_a_run_that_has_grown_too_large_keeps_the_cause_that_was_known(
    page: AppTest, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    page.run()
    monkeypatch.setattr(cause_so_far, "MOST_BYTES", 10)
    monkeypatch.setattr(cause_so_far.time, "monotonic", lambda: 1e12)
    page.run()
    assert len(reads) == 1
    assert "Of its first 40 steps." in text_of(page)
    assert "Where the loop's time goes" in text_of(page)


def test_a_run_that_was_too_large_when_it_was_opened_is_not_read(
    page: AppTest, reads: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cause_so_far, "MOST_BYTES", 10)
    page.run()
    assert not reads
    assert cause_so_far.TOO_LARGE in text_of(page)
