"""Follow a run while it is written: only what is new since a cursor, from all its event files.

    tail = Tail(run)
    while showing:
        for told in tail.read():  # events of `profiles.run.events` with their writers, oldest first
            ...

A cursor travels as text, so a browser that reconnects goes on where it was.
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


class Told(NamedTuple):
    """An event and who wrote it. `worker` and `generation` are None for a launcher's."""

    event: Event
    worker: int | None = None
    generation: int | None = None

    @property
    def of_worker(self) -> int | None:
        """The worker that the event names, else its writer."""
        number = getattr(self.event, "worker", None)
        return self.worker if number is None else number

    def to_json(self) -> dict[str, Any]:
        """The event's fields, with its `kind` and its writer if it names no process itself."""
        writer = {"worker": self.worker, "generation": self.generation}
        known = {} if self.worker is None else writer
        fields: dict[str, Any] = msgspec.to_builtins(self.event)
        return known | fields


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far each event file (its path in the run folder) was read, in bytes."""

    offsets: Mapping[str, int] = field(default_factory=dict)

    def encode(self) -> str:
        """As text for a URL: `launcher.jsonl:120,worker-0-0/events.jsonl:5431`."""
        return ",".join(f"{file}:{offset}" for file, offset in sorted(self.offsets.items()))

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """The cursor in a text of `encode`; raises RunFolderError if the text is not a cursor."""
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


def read_since(run: Path, cursor: Cursor) -> tuple[list[Told], Cursor]:
    """The events after `cursor`, oldest first, and the cursor to go on from.

    A folder that is not there (yet) has nothing new.
    """
    told: list[Told] = []
    offsets = dict(cursor.offsets)
    for path, worker, generation in _event_files(run):
        file = path.relative_to(run).as_posix()
        start = offsets.get(file, 0)
        try:
            if not path.is_file() or path.stat().st_size <= start:
                continue
            new, offsets[file] = read_events(path, start)
        except OSError:
            continue  # gone, or not readable just now: the next read tries again
        told += [Told(event, worker, generation) for event in new]
    told.sort(key=_written_ns)
    return told, Cursor(offsets)


class Tail:
    """A run folder and the cursor in it; one reader each."""

    def __init__(self, run: str | Path, cursor: Cursor | None = None) -> None:
        self.run = Path(run)
        self.cursor = cursor or Cursor()

    def read(self) -> list[Told]:
        """What is new since the last read, oldest first."""
        told, self.cursor = read_since(self.run, self.cursor)
        return told


def _event_files(run: Path) -> list[tuple[Path, int | None, int | None]]:
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


def _written_ns(told: Told) -> int:
    return told.event.at_ns
