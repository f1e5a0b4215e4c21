"""The live page says what a run is busy with while no step comes, or slow ones do."""

from __future__ import annotations

import pytest

from strategy_lab.app.live.activity import READING_GRAPH, TRACING, Activity
from strategy_lab.profiles.run.events import (
    Event,
    PlacementRecorded,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_lab.profiles.run.tail import Told


def segment(number: int = 0) -> SegmentOpened:
    return SegmentOpened(number, "mirrored", 2, 1, 8, 0, 0, ["a", "b"], "auto", {})


def step(number: int, captured: bool = False) -> StepDone:
    return StepDone(0, number, 0, 5.0, 0.5, 8, captured)


def window(first: int, number: int, error: str | None = None) -> WindowCaptured:
    return WindowCaptured(0, 0, first, number, "window-000000", 0, 0, 1.0, 1.0, 1.0, None, error)


def after(*events: Event, worker: int = 0) -> str | None:
    activity = Activity()
    for event in events:
        activity.take(Told(event, worker, 0))
    return activity.text


START = (segment(), step(0), PlacementRecorded(0, "placement.parquet", 3))


def test_the_first_step_of_each_configuration_is_traced() -> None:
    assert after(segment()) == TRACING
    assert after(*START, segment(1)) == TRACING


def test_then_its_graph_is_read() -> None:
    assert after(segment(), step(0)) == READING_GRAPH
    assert after(*START) is None


def test_a_capture_is_named_while_it_lasts_and_while_it_is_converted() -> None:
    assert after(*START, step(2, True)) == "Capturing step 2 in full."
    beside = "Converting the capture of steps 2 to 3 while training continues."
    assert after(*START, step(2, True), step(3, True), step(4)) == beside


@pytest.mark.parametrize("error", [None, "The profiler left no file"])
def test_a_window_ends_it_whether_it_has_tables_or_not(error: str | None) -> None:
    captured = (step(2, True), step(3, True), step(4))
    assert after(*START, *captured, window(2, 2, error)) is None


def test_windows_one_after_the_other_are_told_apart() -> None:
    captured = (step(2, True), step(3, True), step(4, True))
    assert after(*START, *captured, window(2, 2)) == "Capturing step 4 in full."


def test_other_workers_say_nothing_of_it() -> None:
    assert after(segment(), worker=1) is None
