"""Follow a run while it is written: only what is new since a cursor, from all its event files.

    tail = Tail(run)
    while showing:
        for record in tail.read():  # dicts as in `profiles.events`, oldest first
            ...

A cursor travels as text, so a browser that reconnects goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.event_log import read_events
from strategy_lab.profiles.layout import launcher_files, worker_folders
from strategy_lab.profiles.sources import Record
from strategy_lab.profiles.user_text import shown, whole_or_none


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far each event file (its path in the run folder) was read, in bytes."""

    offsets: Mapping[str, int] = field(default_factory=dict)

    def encode(self) -> str:
        """As text for a URL: `launcher.jsonl:120,worker-0-0/events.jsonl:5431`."""
        return ",".join(f"{file}:{offset}" for file, offset in sorted(self.offsets.items()))

    @classmethod
    def decode(cls, text: str) -> Cursor:
        """The cursor in a text of `encode`; raises RunFolderError where it is none."""
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


def read_since(run: Path, cursor: Cursor) -> tuple[list[Record], Cursor]:
    """The whole records after `cursor`, oldest first, and the cursor to go on from.

    Each record carries the `worker` and `generation` of its writer where it names none itself.
    A folder that is not there (yet) has nothing new.
    """
    records: list[Record] = []
    offsets = dict(cursor.offsets)
    for path, origin in _event_files(run):
        file = path.relative_to(run).as_posix()
        start = offsets.get(file, 0)
        try:
            if not path.is_file() or path.stat().st_size <= start:
                continue
            new, offsets[file] = read_events(path, start)
        except OSError:
            continue  # gone, or not readable just now: the next read tries again
        records += [origin | record for record in new]
    records.sort(key=_written_ns)
    return records, Cursor(offsets)


class Tail:
    """A run folder and the cursor in it; one reader each."""

    def __init__(self, run: str | Path, cursor: Cursor | None = None) -> None:
        self.run = Path(run)
        self.cursor = cursor or Cursor()

    def read(self) -> list[Record]:
        """What is new since the last read, oldest first."""
        records, self.cursor = read_since(self.run, self.cursor)
        return records


def _event_files(run: Path) -> list[tuple[Path, Record]]:
    try:
        files: list[tuple[Path, Record]] = [(path, {}) for path in launcher_files(run)]
        folders = list(worker_folders(run))
    except OSError:
        return []
    files += [
        (folder.events, {"worker": folder.worker, "generation": folder.generation})
        for folder in folders
    ]
    return files


def _written_ns(record: Record) -> int:
    at_ns = record.get("at_ns")
    return at_ns if isinstance(at_ns, int) else 0
