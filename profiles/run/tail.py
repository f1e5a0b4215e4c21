"""Follow a run while it is written: read the events after a cursor from all its event files.

    tail = Tail(run)
    while showing:
        for told in tail.read():  # events of `profiles.run.events` with their writers, oldest first
            ...

A cursor can be encoded as text, so that a browser that reconnects continues at the same position.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.run.event_log import read_events
from strategy_lab.profiles.run.events import Event
from strategy_lab.profiles.run.layout import launcher_files, worker_folders
from strategy_lab.profiles.user_input.text import shown, whole_or_none


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


@dataclass(frozen=True, slots=True)
class Cursor:
    """The number of bytes read of each event file, by its path in the run folder."""

    offsets: Mapping[str, int] = field(default_factory=dict)

    def encode(self) -> str:
        """Encode for a URL, like `launcher.jsonl:120,worker-0-0/events.jsonl:5431`."""
        return ",".join(f"{file}:{offset}" for file, offset in sorted(self.offsets.items()))

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """Decode the text of `encode`. Raises RunFolderError if it is not a cursor."""
        offsets = {}
        for part in filter(None, text.split(",")):
            file, _, offset = part.rpartition(":")
            place = whole_or_none(offset)
            if not file or place is None:
                raise RunFolderError(
                    f"The cursor {shown(text)} is damaged", advice="A cursor is FILE:BYTES,..."
                )
            offsets[file] = place
        return cls(offsets)


def read_since(run: Path, cursor: Cursor) -> tuple[list[WrittenEvent], Cursor]:
    """Return the events after `cursor`, oldest first, and the new cursor.

    Returns no events if the folder does not exist (yet).
    """
    told: list[WrittenEvent] = []
    offsets = dict(cursor.offsets)
    for path, worker, generation in _event_files(run):
        file = path.relative_to(run).as_posix()
        start = offsets.get(file, 0)
        try:
            if not path.is_file() or path.stat().st_size <= start:
                continue
            new, offsets[file] = read_events(path, start)
        except OSError:
            continue  # removed or temporarily unreadable: the next read tries again
        told += [WrittenEvent(event, worker, generation) for event in new]
    told.sort(key=_written_ns)
    return told, Cursor(offsets)


class Tail:
    """A run folder and a cursor. Each reader needs its own."""

    def __init__(self, run: str | Path, cursor: Cursor | None = None) -> None:
        self.run = Path(run)
        self.cursor = cursor or Cursor()

    def read(self) -> list[WrittenEvent]:
        """Return the events since the last read, oldest first."""
        told, self.cursor = read_since(self.run, self.cursor)
        return told


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


def _written_ns(told: WrittenEvent) -> int:
    return told.event.at_ns
