"""The Parquet files that a run's events report as written, and which of them are missing."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from strategy_lab.profiles.run.event_files import EventSource
from strategy_lab.profiles.run.events import PlacementRecorded, WindowCaptured
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.tables.schema import WINDOW_TABLES

_CHUNK_BYTES = 1 << 20
ADDED_LATER = ("causes",)
"""Tables that earlier versions did not write."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file that an event reports."""

    table: str
    path: Path
    num_rows: int | None = None
    """None if the event does not contain it."""
    crc32: int | None = None
    """Checksum of the whole file; None in runs of earlier versions."""


def recorded_files(run: Path, sources: Sequence[EventSource]) -> tuple[RecordedFile, ...]:
    """Return every file that was complete when its event was written."""
    return tuple(file for source in sources for file in _of_source(run, source))


def missing_files(files: Sequence[RecordedFile]) -> list[str]:
    """Return notes about missing files, one note per folder."""
    by_folder: dict[Path, list[RecordedFile]] = {}
    for file in files:
        if not _is_there(file.path):
            by_folder.setdefault(file.path.parent, []).append(file)
    return [_note(folder, found) for folder, found in by_folder.items()]


def _of_source(run: Path, source: EventSource) -> Iterator[RecordedFile]:
    if source.worker is None or source.generation is None:
        return
    folder = worker_folder(run, source.worker, source.generation).path
    for window in source.of_kind(WindowCaptured):
        if window.error is None:
            yield from _of_window(window, folder / window.folder)
    for placement in source.of_kind(PlacementRecorded):
        if placement.file is not None:
            path = folder / placement.file
            yield RecordedFile("placement", path, placement.num_rows, placement.crc32)


def _of_window(window: WindowCaptured, folder: Path) -> Iterator[RecordedFile]:
    for name, file in window.tables.items():
        yield RecordedFile(name, folder / f"{name}.parquet", file.num_rows, file.crc32)
    for name in WINDOW_TABLES if not window.tables else ():
        if name not in ADDED_LATER:
            rows = window.num_spans if name == "spans" else None
            yield RecordedFile(name, folder / f"{name}.parquet", rows)


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file. Raises OSError if it cannot be read."""
    found = 0
    with path.open("rb") as file:
        while block := file.read(_CHUNK_BYTES):
            found = zlib.crc32(block, found)
    return found


def _is_there(path: Path) -> bool:
    try:
        return path.is_symlink() or path.exists()
    except OSError:
        return True  # the error is noted when the file is read


def _note(folder: Path, files: Sequence[RecordedFile]) -> str:
    names = ", ".join(file.path.name for file in files)
    is_window = folder.name.startswith("window")
    where = f"{folder.parent.name}/{folder.name}" if is_window else folder.name
    verb = "is" if len(files) == 1 else "are"
    return f"{names} of {where} {verb} missing: events.jsonl says that it was recorded"
