"""Append events to a JSON-lines file, and read them back from a cursor.

Lines are written with a single `write` call, so a reader sees whole lines, or at worst an
incomplete last one.
"""

from __future__ import annotations

import itertools
import math
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from strategy_profiles.errors import refused
from strategy_profiles.guards import open_file
from strategy_profiles.run.event_decoder import (
    LeftOut,
    decode,
    decode_lines,
    read_chunks,
)
from strategy_profiles.run.events import Event, Note, StepDone
from strategy_profiles.run.line_checksum import sealed
from strategy_profiles.spec.limits import LONGEST_LINE_BYTES, LONGEST_TEXT
from strategy_profiles.user_input.text import as_utf8

_NEWLINE = ord("\n")


class EventLog:
    """The only writer of an event file. Not thread-safe: callers in several threads need a lock."""

    def __init__(self, path: Path, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        self.now_ns = now_ns
        path.parent.mkdir(parents=True, exist_ok=True)
        self._is_cut = _ends_within_a_line(path)
        """Whether the last line lacks its end, as after a write that filled the disk."""
        self._file: BinaryIO = path.open("ab", buffering=0)
        last = max((event.line for event in read_events(path)[0]), default=0)
        self._lines = itertools.count(last + 1)

    def write(self, event: Event) -> None:
        """Append one event. Raises RunFolderError if it cannot be written."""
        self.append([line_of(event, self.now_ns(), self.next_line())])

    def next_line(self) -> int:
        """Return the number of the next line. Never repeats a number, even if a write fails."""
        return next(self._lines)

    def append(self, lines: Sequence[bytes]) -> None:
        """Append lines with a single write. Raises RunFolderError if they cannot be written."""
        data = b"\n".join([b""] * self._is_cut + [*lines, b""])
        left = memoryview(data)
        while left:  # a part at the end of a disk, or of what a file may hold: the rest says which
            try:
                written = self._file.write(left)
            except OSError as error:
                raise refused(error, "An event cannot be written to the run folder") from error
            self._is_cut = left[written - 1] != _NEWLINE
            left = left[written:]

    def close(self) -> None:
        self._file.close()


def _ends_within_a_line(path: Path) -> bool:
    try:
        with open_file(path) as file:
            if not file.seek(0, os.SEEK_END):
                return False
            file.seek(-1, os.SEEK_END)
            return file.read() != b"\n"
    except FileNotFoundError:
        return False


def line_of(event: Event, at_ns: int, line: int = 0) -> bytes:
    """Encode an event as one line of JSON that readers accept, with its checksum.

    Text that is too long is cut. An event that is still invalid is replaced by a note about it.
    """
    event = msgspec.structs.replace(event, at_ns=at_ns, line=line)
    if isinstance(event, StepDone):
        return sealed(_ENCODER.encode(event))  # a check would double the time
    try:
        return _checked(_ENCODER.encode(event))
    except ValueError:
        pass
    try:
        return _checked(_ENCODER.encode(_shortened(msgspec.to_builtins(event, enc_hook=_plain))))
    except ValueError as error:
        said = f"An event of kind {event.kind} could not be recorded: {error}"
        return sealed(_ENCODER.encode(Note("warning", said, at_ns=at_ns, line=line)))


def line_of_step(step: StepDone, at_ns: int, line: int) -> bytes:
    """Encode a step as a line. A NaN or infinite loss, which JSON does not have, becomes null."""
    return sealed(_ENCODER.encode(msgspec.structs.replace(step, at_ns=at_ns, line=line)))


def read_events(path: Path, cursor: int = 0) -> tuple[list[Event], int]:
    """Return the events in the whole lines after byte `cursor`, and the new cursor.

    An incomplete last line is left for the next read; an invalid line is skipped.
    """
    data, cursor = read_lines(path, cursor)
    return decode_lines(data, LeftOut()), cursor


def read_lines(path: Path, cursor: int, most_bytes: float = math.inf) -> tuple[bytes, int]:
    """Return the whole lines after byte `cursor`, and the new cursor.

    Stops at the first line's end after `most_bytes`, or up to a mebibyte later.
    """
    lines, begin = [], cursor
    try:
        with open_file(path) as file:
            file.seek(cursor)
            for chunk, end in read_chunks(file, LeftOut()):
                whole = chunk[: chunk.rfind(b"\n") + 1]
                lines.append(whole)
                cursor = end - (len(chunk) - len(whole))
                if cursor - begin >= most_bytes:
                    break
    except FileNotFoundError:
        return b"", cursor
    return b"".join(lines), cursor


def read_end(path: Path, cursor: int, most_bytes: int) -> bytes:
    """Return the whole lines among the last bytes of a file, of those after byte `cursor`."""
    try:
        with open_file(path) as file:
            begin = max(cursor, file.seek(0, os.SEEK_END) - most_bytes)
            file.seek(begin)
            data = file.read(most_bytes)
    except OSError:
        return b""
    start = data.find(b"\n") + 1 if begin > cursor else 0
    return data[start : data.rfind(b"\n") + 1]


def _checked(line: bytes) -> bytes:
    decode(line)
    line = sealed(line)
    if len(line) > LONGEST_LINE_BYTES:
        raise ValueError(f"it takes {len(line)} bytes, more than {LONGEST_LINE_BYTES}")
    return line


def _plain(value: Any) -> Any:
    """Convert NumPy numbers to Python numbers, and all other unsupported types to text."""
    return value.item() if hasattr(value, "item") else str(value)


def _shortened(value: Any) -> Any:
    """Return a copy of a value with texts cut to the limit and lone surrogates escaped."""
    if isinstance(value, str):
        text = as_utf8(value)
        return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
    if isinstance(value, dict):
        return {_shortened(key): _shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item) for item in value]
    return value


_ENCODER = msgspec.json.Encoder(enc_hook=_plain)
