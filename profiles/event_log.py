"""Append events to a JSON-lines file, and read them back from a cursor.

Lines are written with one `write` call, so a reader sees whole lines or a cut last one.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.events import Event, StepDone, to_record
from strategy_lab.profiles.step_line import StepFields, step_line

STEP_FIELDS = tuple(field.name for field in fields(StepDone))
_ENCODER = json.JSONEncoder(allow_nan=False, default=str)
"""`json.dumps` would make a new one for every event."""


class EventLog:
    """The one writer of an `events.jsonl`. Not for several threads without a lock of theirs."""

    def __init__(self, path: Path, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.now_ns = now_ns
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = path.open("ab", buffering=0)

    def write(self, event: Event) -> None:
        """Append one event; raises RunFolderError where the disk refuses it."""
        self.append([line_of(event, self.now_ns())])

    def append(self, lines: Sequence[str]) -> None:
        """Append lines of events with one call; raises RunFolderError where the disk refuses."""
        data = "\n".join([*lines, ""]).encode()
        try:
            written = self._file.write(data)
        except OSError as error:
            raise _refused(error.strerror) from error
        if written != len(data):
            raise _refused("a full disk")

    def close(self) -> None:
        self._file.close()


def _refused(why: str | None) -> RunFolderError:
    return RunFolderError("The run folder takes every event", why, "Free some space")


def line_of(event: Event, at_ns: int) -> str:
    """The JSON object of an event, in one line."""
    if isinstance(event, StepDone) and (line := step_line(event, at_ns)) is not None:
        return line
    record = to_record(event, at_ns)
    try:
        return _ENCODER.encode(record)
    except ValueError:
        return _ENCODER.encode(_finite(record))


def line_of_step(step: StepFields, at_ns: int) -> str:
    """The same for what has the fields of a step's event."""
    line = step_line(step, at_ns)
    if line is None:
        line = line_of(StepDone(**{name: getattr(step, name) for name in STEP_FIELDS}), at_ns)
    return line


def read_events(path: Path, cursor: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Whole records after byte `cursor`, and the cursor to go on from.

    A cut last line is left for the next read; a line that is no JSON object is skipped.
    """
    try:
        with path.open("rb") as file:
            file.seek(cursor)
            data = file.read()
    except FileNotFoundError:
        return [], cursor
    whole = data[: data.rfind(b"\n") + 1]
    return parse_lines(whole)[0], cursor + len(whole)


def parse_lines(data: bytes) -> tuple[list[dict[str, Any]], int]:
    """The records in `data`, and how many lines are none (a disk that lost a page, say)."""
    records, num_unreadable = [], 0
    for line in data.splitlines():
        try:
            record = _DECODER.decode(line.decode())
        except (ValueError, RecursionError):
            num_unreadable += 1
            continue
        if isinstance(record, dict) and isinstance(record.get("kind"), str):
            records.append(record)
        else:
            num_unreadable += 1
    return records, num_unreadable


def _no_number(_word: str) -> None:
    """NaN and infinities, which some writers spell although JSON has no word for them."""


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as null: JSON has no word for them."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
