"""What the Contexts page shows at once, and says while a recording runs, waits or was stopped."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from strategy_app.access.policy import Access
from strategy_app.server import state
from strategy_contexts import child, course
from strategy_contexts.lab_recordings import lab_recordings
from strategy_profiles.errors import LabError
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
    lab_recordings().close()


OWN = "def demonstrate(strategy): pass"


def with_own_program(folder: Path) -> AppTest:
    at = open_page("contexts", folder)
    at.text_area[0].set_value(OWN)
    return rerun(at)


@pytest.mark.slow
def test_every_demonstration_is_shown_without_a_process(
    started: list[Pretended], tmp_path: Path
) -> None:
    at = open_page("contexts", tmp_path)
    for item in course.demonstrations():
        at.selectbox("demo").set_value(item.name)
        rerun(at)
        (frame,) = at.get("iframe")
        assert item.title in html.unescape(frame.proto.srcdoc)
    assert not started


def test_no_program_can_be_written_for_a_network_without_a_token(
    started: list[Pretended], tmp_path: Path
) -> None:
    at = open_page("contexts", tmp_path)
    assert at.text_area
    state.lab().access = Access("0.0.0.0")
    at = rerun(at)
    assert not at.text_area
    assert "without a token" in text_of(at)
    assert not started


def test_record_again_records_the_shown_demonstration(
    started: list[Pretended], tmp_path: Path
) -> None:
    at = open_page("contexts", tmp_path)
    at.button("context_again_mirrored").click()
    rerun(at)
    assert "TensorFlow is starting in its own process" in text_of(at)
    assert len(started) == 1


def test_two_recordings_beside_each_other_are_named(
    started: list[Pretended], tmp_path: Path
) -> None:
    at = open_page("contexts", tmp_path)
    at.selectbox("context_beside").select("one-device")
    rerun(at)
    assert {"**MirroredStrategy**", "**OneDeviceStrategy**"} <= {item.value for item in at.markdown}
    assert len(started) < 2


def test_a_running_recording_can_be_stopped(started: list[Pretended], tmp_path: Path) -> None:
    at = with_own_program(tmp_path)
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
    at = with_own_program(tmp_path)
    started[0].is_running = False
    lab_recordings().tick()
    rerun(at)
    assert "stopped after 180 s, the longest it may run" in text_of(at)


def test_a_changed_program_ends_the_recording_of_the_previous_one(
    started: list[Pretended], tmp_path: Path
) -> None:
    at = with_own_program(tmp_path)
    at.text_area[0].set_value(f"{OWN}  # changed")
    rerun(at)
    assert [each.is_running for each in started] == [False, True]
    assert "TensorFlow is starting in its own process" in text_of(at)


def test_a_program_that_waits_says_its_place(started: list[Pretended], tmp_path: Path) -> None:
    at = open_page("contexts", tmp_path)
    for viewer in ("ada", "bob"):
        lab_recordings().look(viewer, [(f"{OWN}  # {viewer}", "mirrored", "cpu:2")])
    at.text_area[0].set_value(OWN)
    rerun(at)
    assert "number 1 in the queue" in text_of(at)
    assert len(started) == 2
