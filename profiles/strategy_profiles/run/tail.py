"""Follow a run while it is written: read the events after a cursor from all its event files.

tail = Tail(run)
while showing:
    for told in tail.read():  # of `strategy_profiles.run.events`, with writers, oldest first
        ...
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from strategy_profiles.run.event_decoder import LeftOut, decode_lines
from strategy_profiles.run.event_log import read_end, read_lines
from strategy_profiles.run.events import Event
from strategy_profiles.run.layout import launcher_files, worker_folders


class WrittenEvent(NamedTuple):
    """An event and its writer. `worker` and `generation` are None if a launcher wrote it."""

    event: Event
    worker: int | None = None
    generation: int | None = None

    @property
    def of_worker(self) -> int | None:
        """The worker that the event names, otherwise its writer."""
        number = getattr(self.event, "worker", None)
        return self.worker if number is None else number

    def to_json(self) -> dict[str, Any]:
        """Return the event's fields with its `kind`, and its writer if it names no process."""
        writer = {"worker": self.worker, "generation": self.generation}
        known = {} if self.worker is None else writer
        fields: dict[str, Any] = msgspec.to_builtins(self.event)
        return known | fields


Cursor = Mapping[str, int]
"""The number of bytes read of each event file, by its path in the run folder."""
Choose = Callable[[bytes, float], bytes]
"""Selects the lines to decode. Takes the lines that were read of one file, and their share of the
bytes of that file that had not been read before; returns lines."""


def read_since(
    run: Path, cursor: Cursor, most_bytes: float = math.inf, choose: Choose = lambda data, _: data
) -> tuple[list[WrittenEvent], Cursor, int]:
    """Return the events after `cursor`, oldest first, the new cursor, and how many bytes are left.

    Reads `most_bytes` of each file, or up to a mebibyte more, and decodes what `choose` returns.
    Returns no events if the folder does not exist (yet).
    """
    of_files: list[list[WrittenEvent]] = []
    num_left = 0
    offsets = dict(cursor)
    for path, worker, generation in _event_files(run):
        file = path.relative_to(run).as_posix()
        start = offsets.get(file, 0)
        try:
            if (size := path.stat().st_size) <= start:
                continue
            data, offsets[file] = read_lines(path, start, most_bytes)
        except OSError:
            continue  # removed or temporarily unreadable: the next read tries again
        # Of a file that a line is being written to, the rest is no line yet.
        left = max(0, size - offsets[file]) if len(data) >= most_bytes else 0
        num_left += left
        chosen = choose(data, len(data) / (len(data) + left)) if data else data
        of_files.append(_decoded(chosen, worker, generation))
    # Merged, not sorted: where a clock was set back, a file's own order stays.
    events = list(heapq.merge(*of_files, key=_written_ns))
    return events, offsets, num_left


class Tail:
    """A run folder and a cursor. Each reader needs its own."""

    def __init__(self, run: str | Path) -> None:
        self.run = Path(run)
        self.cursor: Cursor = {}
        self.num_left = 0
        """Bytes that the last read has left for the next ones."""

    def read(self) -> list[WrittenEvent]:
        """Return the events since the last read, oldest first."""
        return self.read_some(math.inf, lambda data, _: data)

    def read_some(self, most_bytes: float, choose: Choose) -> list[WrittenEvent]:
        """Return some of the events since the last read, as `read_since` reads them."""
        events, self.cursor, self.num_left = read_since(self.run, self.cursor, most_bytes, choose)
        return events

    def newest(self, most_bytes: int) -> list[WrittenEvent]:
        """Return the last events of the first worker, of those that no read has reached yet.

        Looks at `most_bytes` of the end of its file. Later reads return these events as well.
        """
        events: list[WrittenEvent] = []
        for path, worker, generation in _event_files(self.run):
            if worker == 0:
                begin = self.cursor.get(path.relative_to(self.run).as_posix(), 0)
                events = _decoded(read_end(path, begin, most_bytes), worker, generation) or events
        return events


def _decoded(data: bytes, worker: int | None, generation: int | None) -> list[WrittenEvent]:
    return [WrittenEvent(each, worker, generation) for each in decode_lines(data, LeftOut())]


def _event_files(run: Path) -> list[tuple[Path, int | None, int | None]]:
    """Return path, worker and generation of each event file; a launcher's have no worker."""
    try:
        files: list[tuple[Path, int | None, int | None]] = [
            (path, None, None) for path in launcher_files(run)
        ]
        files += [
            (folder.events, folder.worker, folder.generation) for folder in worker_folders(run)
        ]
    except OSError:
        return []
    return files


def _written_ns(written: WrittenEvent) -> int:
    return written.event.at_ns
