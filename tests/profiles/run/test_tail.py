"""Following a run from a cursor: everything once, in order, whatever the moment of reading."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Finished, Note, StepDone
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.run.tail import Tail
from tests.synthetic import write_run


def test_a_whole_run_is_read_once_oldest_first(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, workers=2)
    tail = Tail(run)
    every = tail.read()
    assert sum(isinstance(record.event, StepDone) for record in every) == 2 * 40
    times = [record.event.at_ns for record in every]
    assert times == sorted(times)
    assert tail.read() == []


def test_each_event_comes_with_its_writer(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=10, workers=2)
    steps = [record for record in Tail(run).read() if isinstance(record.event, StepDone)]
    assert {(record.worker, record.generation) for record in steps} == {(0, 0), (1, 0)}
    assert steps[-1].to_json() | {"kind": "step", "worker": 1} == steps[-1].to_json()


def test_a_half_written_line_waits_for_its_rest(tmp_path: Path) -> None:
    events = tmp_path / "worker-0-0/events.jsonl"
    events.parent.mkdir()
    note = b'{"kind": "note", "level": "info", "message": "here", "at_ns": %d}\n'
    events.write_bytes(note % 1 + (note % 2)[:12])
    tail = Tail(tmp_path)
    assert len(tail.read()) == 1
    assert tail.read() == []
    with events.open("ab") as file:
        file.write((note % 2)[12:])
    assert [record.event.at_ns for record in tail.read()] == [2]


def test_a_worker_that_appears_later_is_followed_too(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "run")
    assert tail.read() == []
    for generation in range(2):
        log = EventLog(worker_folder(tmp_path / "run", 0, generation).events, now_ns=lambda: 5)
        log.write(Note("info", "here"))
        log.write(Finished("finished", 1))
        log.close()
        assert [record.generation for record in tail.read()] == [generation] * 2
