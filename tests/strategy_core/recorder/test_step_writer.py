"""Steps reach the disk soon and in order, whatever the program does meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Note
from tests.event_records import read_records
from tests.timeouts import wait_until

pytestmark = pytest.mark.tf


def _step_writer(path: Path) -> Any:
    from strategy_core.recorder.step_writer import StepWriter

    return StepWriter(EventLog(path / "events.jsonl"))


def _step(number: int) -> Any:
    from strategy_core.recorder.step import RecordedStep

    step = RecordedStep(number)
    step.result_later(lambda: (number / 2, None), 8)
    step.end()
    return step


def _written_steps(path: Path) -> list[Any]:
    events = read_records(path / "events.jsonl")
    return [event.get("step", event["kind"]) for event in events]


def _threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "step_writer"}


def test_steps_are_written_even_if_the_program_hangs(tmp_path: Path) -> None:
    step_writer = _step_writer(tmp_path)
    for number in range(3):
        step_writer.leave(_step(number))
    wait_until(lambda: _written_steps(tmp_path) == [0, 1, 2])
    events = read_records(tmp_path / "events.jsonl")
    assert [event["loss"] for event in events] == [0.0, 0.5, 1.0]
    assert step_writer.take_cost_ms() > 0
    step_writer.close()


def test_events_keep_their_order(tmp_path: Path) -> None:
    step_writer = _step_writer(tmp_path)
    step = _step(0)
    step.tell(Note("info", "noted in the step"))
    step_writer.leave(step)
    step_writer.leave(_step(1))
    step_writer.write(Note("info", "behind both"))
    step_writer.leave(_step(2))
    step_writer.catch_up()
    assert _written_steps(tmp_path) == [0, "note", 1, "note", 2]
    step_writer.close()


def test_a_result_of_the_program_is_read_in_the_background_without_delay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strategy_core.recorder import step_writer as module
    from strategy_core.recorder.step import RecordedStep

    monkeypatch.setattr(module, "LAST_RESULTS_S", 0.2)
    is_computed, readers = threading.Event(), set()

    def read() -> Any:
        readers.add(threading.current_thread().name)
        is_computed.wait()
        return 0.25, None

    step_writer = _step_writer(tmp_path)
    for number in range(3):
        step = RecordedStep(number)
        if number:
            step.result_of_program(read)
        step_writer.leave(step)
    step_writer.write(Note("info", "of the program's thread"))
    assert _written_steps(tmp_path) == [0]
    is_computed.set()
    wait_until(lambda: _written_steps(tmp_path) == [0, 1, 2, "note"])
    is_computed.clear()
    step = RecordedStep(3)
    step.result_of_program(read)
    step_writer.leave(step)
    step_writer.close()
    assert _written_steps(tmp_path)[4:] == [3, "note"], "a step without its result, and why"
    assert readers == {"step_writer"}
    is_computed.set()


def _refuse(*_lines: Sequence[str]) -> None:
    raise RunFolderError("An event cannot be written: No space left on device")


@pytest.mark.parametrize(
    "go_on",
    [lambda s: s.leave(_step(1)), lambda s: s.write(Note("info", "next"))],
)
def test_a_background_write_error_is_raised_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, go_on: Callable[[Any], None]
) -> None:
    step_writer = _step_writer(tmp_path)
    with monkeypatch.context() as refusing:
        refusing.setattr(EventLog, "append", _refuse)
        step_writer.leave(_step(0))
        step_writer.catch_up()
    with pytest.raises(RunFolderError, match="No space left"):
        go_on(step_writer)
    step_writer.leave(_step(2))
    step_writer.catch_up()
    assert _written_steps(tmp_path)[-1] == 2
    step_writer.close()


def test_no_thread_outlives_its_step_writer(tmp_path: Path) -> None:
    before = _threads()
    closed, dropped = _step_writer(tmp_path / "closed"), _step_writer(tmp_path / "dropped")
    for step_writer in (closed, dropped):
        step_writer.leave(_step(0))
    assert len(_threads() - before) == 2
    closed.close()
    del step_writer, dropped
    wait_until(lambda: not _threads() - before)
