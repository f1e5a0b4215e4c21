"""What the Contexts page says while a recording runs, waits, was stopped, or hit a limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strategy_core.contexts import child, course
from strategy_lab.app.server import state
from strategy_lab.profiles.errors import LabError
from tests.app.looking import open_page, rerun, text_of


class Pretended:
    """A program that runs until the test says otherwise."""

    num_bytes = 0

    def __init__(self) -> None:
        self.is_running = True

    def result(self) -> dict[str, Any]:
        raise LabError("The program was stopped after 180 s, the longest it may run")

    def close(self) -> None:
        self.is_running = False


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Pretended]]:
    made: list[Pretended] = []

    def start(_source: str, **_options: object) -> Pretended:
        made.append(Pretended())
        return made[-1]

    monkeypatch.setattr(child, "start", start)
    yield made
    state.lab().recordings.close()


def test_a_running_recording_can_be_stopped(started: list[Pretended], tmp_path: Path) -> None:
    at = open_page("contexts", tmp_path)
    assert "TensorFlow is starting in its own process" in text_of(at)
    at.button("context_stop_mirrored").click()
    rerun(at)
    assert "You stopped the recording" in text_of(at)
    assert not started[0].is_running
    at.button("context_again_mirrored").click()
    rerun(at)
    assert "TensorFlow is starting in its own process" in text_of(at)
    assert len(started) == 2


def test_a_program_that_hit_a_limit_says_so(started: list[Pretended], tmp_path: Path) -> None:
    at = open_page("contexts", tmp_path)
    started[0].is_running = False
    state.lab().recordings.tick()
    rerun(at)
    assert "stopped after 180 s, the longest it may run" in text_of(at)


def test_another_program_is_recorded_at_once_in_the_place_of_the_first(
    started: list[Pretended], tmp_path: Path
) -> None:
    at = open_page("contexts", tmp_path)
    at.text_area[0].set_value("def demonstrate(strategy): pass")
    rerun(at)
    assert [each.is_running for each in started] == [False, True]
    assert "TensorFlow is starting in its own process" in text_of(at)


def test_a_program_that_waits_says_its_place(started: list[Pretended], tmp_path: Path) -> None:
    at = open_page("contexts", tmp_path)
    others = [item.source for item in course.demonstrations()[1:3]]
    for viewer, source in zip(("ada", "bob"), others, strict=True):
        state.lab().recordings.look(viewer, [(source, "mirrored", "cpu:2")])
    at.text_area[0].set_value("def demonstrate(strategy): pass")
    rerun(at)
    # The viewer's first program made room for bob's, who had waited for longer.
    assert "number 1 in the queue" in text_of(at)
    assert len(started) == 3
