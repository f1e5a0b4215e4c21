"""What a writer puts down is what a reader gets; what no reader would take is never written."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_decoder import (
    LeftOut,
    decode,
    decode_lines,
    read_chunks,
)
from strategy_profiles.run.event_log import EventLog, line_of, line_of_step, read_events
from strategy_profiles.run.events import Failed, Note, SegmentOpened, StepDone
from strategy_profiles.spec.limits import (
    LARGEST,
    LONGEST_LINE_BYTES,
    LONGEST_TEXT,
    MOST_WORKERS,
)
from tests.event_records import USUAL, usual

NS = st.integers(0, LARGEST)
MS = st.floats(0, 1e9)
STEPS = st.builds(
    StepDone,
    segment=st.integers(0, 1000),
    step=st.integers(0, 2**40),
    start_ns=NS,
    wall_ms=MS,
    loss=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    examples=st.none() | st.integers(0, 2**31),
    captured=st.booleans(),
    input_ms=st.none() | MS,
    marks_ns=st.none() | st.lists(st.tuples(NS, NS, NS), max_size=16),
)


def refused(record: dict[str, Any]) -> str:
    """Why a reader leaves a line out."""
    left_out = LeftOut()
    assert decode_lines(json.dumps(record).encode(), left_out) == []
    ((kind, reason),) = left_out
    return f"{kind}: {reason}"


@pytest.mark.slow
@given(STEPS, NS)
def test_a_step_is_read_as_it_was_written(step: StepDone, at_ns: int) -> None:
    assert decode(line_of(step, at_ns)) == msgspec.structs.replace(step, at_ns=at_ns)


def _step(**fields: Any) -> StepDone:
    known: dict[str, Any] = {"wall_ms": 1.5, "loss": 0.5, "examples": 8, "captured": False}
    return StepDone(segment=0, step=0, start_ns=0, **(known | fields))


def test_a_loss_that_is_no_number_is_null() -> None:
    for loss in (float("nan"), float("inf"), -float("inf")):
        assert json.loads(line_of(_step(loss=loss), 1))["loss"] is None


def test_a_step_is_written_as_any_event() -> None:
    for step in (_step(loss=2.5), _step(loss=np.float32(0.5), examples=np.int64(8))):
        assert line_of_step(step, 7, 3) == line_of(step, 7, 3)
        record = json.loads(line_of(step, 7, 3))
        assert (record["at_ns"], record["line"]) == (7, 3)


@pytest.mark.parametrize(
    ("kind", "fields", "reason"),
    [
        ("step", {"step": "x"}, "step: `step`: expected `int`, got `str`"),
        ("step", {"wall_ms": -1}, "step: `wall_ms`: expected `float` >= 0.0"),
        ("step", {"segment": True}, "step: `segment`: expected `int`, got `bool`"),
        ("step", {"start_ns": 2**70}, f"step: `start_ns`: expected `int` <= {LARGEST}"),
        ("step", {"marks_ns": [[1, 2]]}, "step: `marks_ns`: expected `array` of length 3"),
        ("closure", {"marks_ns": [None] * 5}, "closure: `marks_ns`: expected `int`, got `null`"),
        ("closure", {"worker": MOST_WORKERS}, "closure: `worker`: expected `int` <= 4095"),
        (
            "segment",
            {"spec": {"steps": "many"}},
            "segment: `steps`: expected `int | null`, got `str`",
        ),
        ("note", {"fields": {"a": 10**30}}, "note: a number of more than 64 bits"),
        ("note", {"level": "loud"}, "note: `level`: not one of its values"),
        ("failed", {"message": "x" * (LONGEST_TEXT + 1)}, "failed: `message`: expected `str` of"),
        ("finished", {"status": "over"}, "finished: `status`: not one of its values"),
    ],
)
def test_a_field_that_does_not_fit_is_named(kind: str, fields: dict[str, Any], reason: str) -> None:
    assert refused(usual({"kind": kind} | fields)).startswith(reason)


@pytest.mark.parametrize("kind", USUAL)
def test_a_missing_field_is_named(kind: str) -> None:
    name = next(iter(USUAL[kind]))
    record = {key: value for key, value in usual({"kind": kind}).items() if key != name}
    assert refused(record) == f"{kind}: without the field `{name}`"


def test_free_fields_have_a_limit_of_depth() -> None:
    deep: Any = 1
    for _ in range(40):
        deep = [deep]
    assert "levels deep" in refused(usual({"kind": "note", "fields": {"a": deep}}))


def test_what_a_line_says_is_not_repeated_in_the_reason() -> None:
    assert refused({"kind": "\x1b[2J"}) == "unknown kind: `kind`: not one of its values"
    assert "Secret" not in refused(usual({"kind": "step", "step": "Secret"}))


def test_a_text_that_is_too_long_is_cut_when_it_is_written(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    log.write(Failed("no\udc80de " + "x" * LONGEST_TEXT, "detail"))
    log.close()
    ((failed,), _) = read_events(tmp_path / "events.jsonl")
    assert isinstance(failed, Failed)
    assert failed.message.startswith("no\\udc80de xxx")
    assert len(failed.message) == LONGEST_TEXT


def test_an_event_that_no_reader_would_take_is_written_as_a_note(tmp_path: Path) -> None:
    odd = SegmentOpened(0, "x", 1, MOST_WORKERS + 1, None, 0, 0, [], "auto", {})
    log = EventLog(tmp_path / "events.jsonl")
    log.write(odd)
    log.close()
    ((note,), _) = read_events(tmp_path / "events.jsonl")
    assert isinstance(note, Note)
    assert "kind segment could not be recorded" in note.message


def test_a_line_that_is_too_long_is_left_out_and_the_next_one_read(tmp_path: Path) -> None:
    path, note = tmp_path / "events.jsonl", b'{"kind": "note", "level": "info", "message": "x"}\n'
    path.write_bytes(note + b"x" * (LONGEST_LINE_BYTES + 2**21) + b"\n" + note)
    left_out: LeftOut = Counter()
    with path.open("rb") as file:
        ends = [end for _chunk, end in read_chunks(file, left_out)]
    assert left_out == {("line", "longer than 16 MiB"): 1}
    assert ends[-1] == path.stat().st_size
    events, cursor = read_events(path)
    assert (len(events), cursor) == (2, path.stat().st_size)


def test_a_line_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path, left_out = tmp_path / "events.jsonl", LeftOut()
    path.write_bytes(line_of(Note("info", "so it is"), 1) + b"\n")
    with path.open("r+b") as file:
        file.truncate(1 << 40)  # zeros that take no disk; to read them takes minutes
        chunks = list(read_chunks(file, left_out))
    assert [len(decode_lines(chunk, left_out)) for chunk, _ in chunks] == [1, 0]
    assert chunks[-1][1] == 1 << 40
    assert left_out == {("line", "longer than 256 MiB: nothing behind it is read"): 1}


def test_line_numbers_continue_when_a_file_is_reopened(tmp_path: Path) -> None:
    for _ in range(2):
        log = EventLog(tmp_path / "events.jsonl")
        log.write(Note("info", "so it is"))
        log.write(Note("info", "so it is"))
        log.close()
    events, _ = read_events(tmp_path / "events.jsonl")
    assert [event.line for event in events] == [1, 2, 3, 4]


def test_a_file_that_may_not_grow_is_not_called_a_full_disk(tmp_path: Path) -> None:
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from strategy_profiles.run.event_log import EventLog\n"
        "from strategy_profiles.run.events import Note\n"
        "log = EventLog(Path(sys.argv[1]))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (250, 250))\n"
        "for number in range(9): log.write(Note('info', 'a line'))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "events.jsonl")]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    assert "File too large. No file may be larger here: raise the limit of `ulimit -f`" in said
    assert len(read_events(tmp_path / "events.jsonl")[0]) == 2


def test_what_follows_a_line_that_the_disk_cut_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    log.write(Note("info", "first"))
    room = [20]

    def write(data: memoryview) -> int:
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return path.open("ab").write(data[: room.pop()])

    with monkeypatch.context() as full:
        full.setattr(log, "_file", SimpleNamespace(write=write))
        with pytest.raises(RunFolderError, match=r"No space left on device. Free some space"):
            log.write(Note("info", "cut"))
    log.write(Note("info", "second"))
    log.close()
    with path.open("ab") as file:
        file.write(b'{"kind": "note", "lev')
    again = EventLog(path)
    again.write(Note("info", "third"))
    again.write(Note("info", "fourth"))
    again.close()
    read = [event.message for event in read_events(path)[0] if isinstance(event, Note)]
    assert read == ["first", "second", "third", "fourth"]


def test_a_cut_last_line_is_read_once_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    line = line_of(Note("info", "so it is"), 1) + b"\n"
    path.write_bytes(line + line[:9])
    events, cursor = read_events(path)
    assert (len(events), cursor) == (1, len(line))
    path.write_bytes(line + line)
    assert len(read_events(path, cursor)[0]) == 1


def test_a_line_whose_checksum_does_not_fit_is_left_out() -> None:
    line = line_of(_step(loss=2.5), 7, 3)
    assert json.loads(line)["line_crc32"] == f"{zlib.crc32(line[: line.rindex(b',')]):08x}"
    changed = line.replace(b'"loss":2.5', b'"loss":7.5')
    rewritten = json.dumps(json.loads(line)).encode()
    left_out = LeftOut()
    chunk = b"\n".join([line, changed, rewritten, line])
    assert len(decode_lines(chunk, left_out)) == 2
    assert left_out == {("step", "damaged: its checksum does not fit"): 2}


def test_a_line_of_an_earlier_version_has_no_checksum() -> None:
    old = {name: value for name, value in _record().items() if name != "line_crc32"}
    assert len(decode_lines(json.dumps(old).encode(), LeftOut())) == 1


def _record() -> dict[str, Any]:
    record: dict[str, Any] = json.loads(line_of(_step(), 7, 3))
    return record
