"""A run says what it is doing while no step comes, or slow ones do."""

from __future__ import annotations

import pytest

from strategy_profiles.run.activity import READING_GRAPH, TRACING, Activity, ActivityState
from strategy_profiles.run.events import (
    CommandAnswered,
    CommandSent,
    EpochEnded,
    EpochEnding,
    Event,
    Launched,
    PlacementRecorded,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_profiles.run.tail import WrittenEvent

NOW_NS = 1_000_000


def segment(number: int = 0) -> SegmentOpened:
    return SegmentOpened(number, "mirrored", 2, 1, 8, 0, 0, ["a", "b"], "auto", {})


def step(number: int, captured: bool = False) -> StepDone:
    return StepDone(0, number, 0, 5.0, 0.5, 8, captured)


def window(first: int, number: int, error: str | None = None) -> WindowCaptured:
    return WindowCaptured(0, 0, first, number, "window-000000", 0, 0, 1.0, 1.0, 1.0, None, error)


def activity_after(*events: Event, worker: int = 0) -> Activity:
    activity = Activity()
    for event in events:
        is_launchers = isinstance(event, (CommandSent, Launched))
        activity.take(WrittenEvent(event, *((None, None) if is_launchers else (worker, 0))))
    return activity


def after(*events: Event, worker: int = 0) -> str | None:
    activity = activity_after(*events, worker=worker)
    return activity.text(activity.state(NOW_NS))


def state(*events: Event, now_ns: int = NOW_NS, has_lost_one: bool = False) -> str:
    return activity_after(*events).state(now_ns, has_lost_one=has_lost_one)


def launched(generation: int = 0) -> Launched:
    return Launched(0, generation, 7, 3, False, at_ns=1)


def answer(number: int, command: str = "reconfigure") -> CommandAnswered:
    return CommandAnswered(number, command, "applied", 3)


START = (segment(), step(0), PlacementRecorded(0, "placement.parquet", 3))


def test_the_first_step_of_each_configuration_is_traced() -> None:
    assert after(segment()) == TRACING
    assert after(*START, segment(1)) == TRACING


def test_the_graph_is_read_after_the_first_step() -> None:
    assert after(segment(), step(0)) == READING_GRAPH
    assert after(*START) is None


def test_a_capture_is_named_while_it_lasts_and_while_it_is_converted() -> None:
    assert after(*START, step(2, True)) == "Capturing step 2 in full."
    beside = "Converting the capture of steps 2 to 3 while training continues."
    assert after(*START, step(2, True), step(3, True), step(4)) == beside


@pytest.mark.parametrize("error", [None, "The profiler left no file"])
def test_a_window_ends_the_capture_whether_it_has_tables_or_not(error: str | None) -> None:
    captured = (step(2, True), step(3, True), step(4))
    assert after(*START, *captured, window(2, 2, error)) is None


def test_windows_one_after_the_other_are_distinguished() -> None:
    captured = (step(2, True), step(3, True), step(4, True))
    assert after(*START, *captured, window(2, 2)) == "Capturing step 4 in full."


def test_other_workers_do_not_compile() -> None:
    assert activity_after(segment(), worker=1).since_ns(ActivityState.COMPILING) is None


CHANGE = CommandSent(1, "reconfigure", {"global_batch_size": 64}, at_ns=5)
STOP = CommandSent(2, "stop", at_ns=6)


def test_a_run_starts_then_compiles_then_runs() -> None:
    assert state() == ActivityState.STARTING
    assert state(launched()) == ActivityState.STARTING
    assert state(launched(), segment()) == ActivityState.COMPILING
    assert state(launched(), *START) == ActivityState.RUNNING


def test_a_change_lasts_from_its_command_to_its_answer() -> None:
    assert state(*START, CHANGE) == ActivityState.CHANGING
    assert state(*START, CHANGE, segment(1)) == ActivityState.CHANGING
    assert after(*START, CHANGE, segment(1)) == TRACING
    assert state(*START, CHANGE, segment(1), step(1), answer(1)) == ActivityState.RUNNING
    assert activity_after(*START, CHANGE).since_ns(ActivityState.CHANGING) == 5


def test_a_stop_counts_from_its_command_on_whatever_else_goes_on() -> None:
    assert state(*START, CHANGE, STOP) == ActivityState.STOPPING
    assert state(*START, answer(2, "stop")) == ActivityState.STOPPING


def test_a_restart_from_a_checkpoint_starts_and_drops_unanswered_changes() -> None:
    assert state(launched(), *START, CHANGE, launched(1)) == ActivityState.STARTING


def test_a_replacement_that_did_its_first_step_before_it_took_over_runs() -> None:
    activity = activity_after(launched(), *START, CHANGE)
    for event in (segment(1), step(1), answer(1)):
        activity.take(WrittenEvent(event, 0, 1))
    activity.take(WrittenEvent(launched(1)))
    assert activity.state(NOW_NS) == ActivityState.RUNNING


def test_a_lost_process_counts_once_steps_have_ceased() -> None:
    """Workers of parameter servers go on without one of them."""
    assert state(*START, now_ns=10**9, has_lost_one=True) == ActivityState.RUNNING
    assert state(*START, now_ns=10**10, has_lost_one=True) == ActivityState.LOST
    assert state(*START, now_ns=10**10) == ActivityState.RUNNING


def test_a_step_is_late_after_four_times_the_one_before() -> None:
    slow = activity_after(segment(), StepDone(0, 0, 0, 3_000.0, 0.5, 8, False))
    assert not slow.is_late(14 * 10**9)
    assert slow.is_late(16 * 10**9)


def test_between_epochs_the_state_says_what_fit_does_until_the_next_step() -> None:
    validating, calling_back = EpochEnding(doing="validation"), EpochEnding(doing="callbacks")
    between = activity_after(*START, validating)
    assert between.state(between.last_step_ns + 10**8) == ActivityState.RUNNING
    assert between.state(10**10) == ActivityState.BETWEEN_EPOCHS
    assert between.since_ns(ActivityState.BETWEEN_EPOCHS) == between.last_step_ns
    assert "validates" in (between.text(ActivityState.BETWEEN_EPOCHS) or "")
    later = activity_after(*START, validating, calling_back)
    assert "on_epoch_end" in (later.text(ActivityState.BETWEEN_EPOCHS) or "")
    ended = EpochEnded(segment=0, step=0, start_ns=0, wall_ms=5.0)
    for event in (ended, step(1), segment(1)):
        over = activity_after(*START, validating, event)
        assert over.state(10**10) != ActivityState.BETWEEN_EPOCHS
        assert over.text(ActivityState.BETWEEN_EPOCHS) != between.text(ActivityState.BETWEEN_EPOCHS)
