"""Following a run from a cursor: everything once, in order, whatever the moment of reading."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.event_log import EventLog
from strategy_lab.profiles.events import Finished, Note
from strategy_lab.profiles.layout import worker_folder
from strategy_lab.profiles.tail import Cursor, Tail, read_since
from tests.synthetic import write_run


def test_a_whole_run_is_read_once_oldest_first(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=40, workers=2)
    tail = Tail(run)
    records = tail.read()
    assert sum(record["kind"] == "step" for record in records) == 2 * 40
    assert [record["at_ns"] for record in records] == sorted(r["at_ns"] for r in records)
    assert tail.read() == []


def test_each_record_names_its_writer(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=10, workers=2)
    steps = [record for record in Tail(run).read() if record["kind"] == "step"]
    assert {(record["worker"], record["generation"]) for record in steps} == {(0, 0), (1, 0)}


def test_a_half_written_line_waits_for_its_rest(tmp_path: Path) -> None:
    events = tmp_path / "worker-0-0/events.jsonl"
    events.parent.mkdir()
    events.write_bytes(b'{"kind": "note", "at_ns": 1}\n{"kind": "no')
    tail = Tail(tmp_path)
    assert len(tail.read()) == 1
    assert tail.read() == []
    with events.open("ab") as file:
        file.write(b'te", "at_ns": 2}\n')
    assert [record["at_ns"] for record in tail.read()] == [2]


def test_a_worker_that_appears_later_is_followed_too(tmp_path: Path) -> None:
    tail = Tail(tmp_path / "run")
    assert tail.read() == []
    for generation in range(2):
        log = EventLog(worker_folder(tmp_path / "run", 0, generation).events, now_ns=lambda: 5)
        log.write(Note("info", "here"))
        log.write(Finished("finished", 1))
        log.close()
        assert [record["generation"] for record in tail.read()] == [generation] * 2


def test_a_cursor_travels_as_text(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=10)
    records, cursor = read_since(run, Cursor())
    assert records
    again, _ = read_since(run, Cursor.decode(cursor.encode()))
    assert again == []


@pytest.mark.parametrize(
    "text", ["x", "file:", ":3", "file:-1", "file:x", "file:²", "f:" + "9" * 4300]
)
def test_a_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(RunFolderError, match="A cursor is FILE:BYTES"):
        Cursor.decode(text)
