"""The event files of a run as they are right now: who wrote each, and its records.

A last line without its newline counts where it is whole: a file may be cut off right there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.event_log import parse_lines
from strategy_lab.profiles.layout import launcher_files, worker_folders

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class EventSource:
    """One event file. `worker` and `generation` are None for a launcher's."""

    file: str
    """Relative to the run folder."""
    worker: int | None
    generation: int | None
    records: list[Record]
    num_unreadable: int
    """Lines that are no event, the cut last one included."""

    def of_kind(self, kind: str) -> list[Record]:
        return [record for record in self.records if record["kind"] == kind]


def read_sources(run: Path) -> tuple[EventSource, ...]:
    """The launchers' events, then each worker's by worker and generation; raises RunFolderError."""
    try:
        found = [_read(run, path, None, None) for path in launcher_files(run)]
        found += [
            _read(run, folder.events, folder.worker, folder.generation)
            for folder in worker_folders(run)
        ]
    except OSError as error:
        raise RunFolderError("A run folder can be read", f"{run} ({error.strerror})") from error
    return tuple(source for source in found if source is not None)


def _read(run: Path, path: Path, worker: int | None, generation: int | None) -> EventSource | None:
    if not path.is_file():  # a pipe under this name would be waited for without end
        return None
    data = path.read_bytes()
    records, num_unreadable = parse_lines(data)
    return EventSource(
        file=path.relative_to(run).as_posix(),
        worker=worker,
        generation=generation,
        records=records,
        num_unreadable=num_unreadable,
    )
