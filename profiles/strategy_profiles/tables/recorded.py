"""The processes and files that a run's events report, and which of them are missing.

Without a note about missing records, figures of an incomplete run would look complete.
"""

from __future__ import annotations

import os
import shlex
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import lexists
from pathlib import Path

import msgspec

from strategy_profiles.guards import open_file
from strategy_profiles.reporting.units import counted
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import (
    Exited,
    Failed,
    Finished,
    Launched,
    PlacementRecorded,
    SegmentOpened,
    WindowCaptured,
    WorkerStarted,
)
from strategy_profiles.run.layout import (
    LAUNCHER_EVENTS,
    RUN_FILE,
    launcher_files,
    worker_folder,
    worker_folders,
)
from strategy_profiles.run.manifest import ENGINE, RunIdentity
from strategy_profiles.run.status import living_workers
from strategy_profiles.run.topology import has_coordinator
from strategy_profiles.tables.schema import WINDOW_TABLES

_CHUNK_BYTES = 1 << 20
ADDED_LATER = ("causes", "input_stages", "tensors")
"""Tables that earlier versions did not write."""


class RecordedFile(msgspec.Struct, frozen=True, gc=False):
    """A file that an event reports. A long run has thousands."""

    table: str
    path: str
    """As in `parquet_tables.table_files`."""
    num_rows: int | None = None
    """Rows according to the event; None if the event does not contain the number."""
    crc32: int | None = None
    """Checksum of the whole file; None in runs of earlier versions."""


def of_this_run(
    identity: RunIdentity | None, sources: Iterable[EventSource]
) -> tuple[RunIdentity | None, tuple[EventSource, ...], list[str]]:
    """Return identity and sources without those of another run, and a note for each removed one.

    If all event files name another run than `run.json`, the identity is removed.
    """
    sources, misplaced = _without_misplaced(tuple(sources))
    if identity is None or not identity.uid:
        return identity, sources, misplaced
    own = {identity.uid, *identity.parts}
    named = [_run_uids(source) for source in sources]
    if any(named) and not own & set().union(*named):
        note = f"{RUN_FILE} belongs to another run: what was asked of this one is unknown"
        return None, sources, [*misplaced, note]
    kept, notes = [], misplaced
    for source, runs in zip(sources, named, strict=True):
        file = Path(source.file)
        name = file.name if source.worker is None else file.parent
        if runs <= own:
            kept.append(source)
            if any(named) and not runs and source.of_kind(WorkerStarted):
                notes.append(f"{name} names no run, unlike other files: it may be of another run")
        else:
            notes.append(f"{name} belongs to another run and is ignored")
    return identity, tuple(kept), notes


def _without_misplaced(
    sources: tuple[EventSource, ...],
) -> tuple[tuple[EventSource, ...], list[str]]:
    """Remove each file that lies in the place of another, with a note.

    It may be a copy of another file of the run, whose events would count twice.
    """
    notes, kept = [], []
    file_of: dict[tuple[object, ...], str] = {}
    for source in sources:
        started = source.of_kind(WorkerStarted)
        # the first step, too: made-up clocks let processes begin at the same time
        began = *started[:1], *source.steps.at_ns[:1].tolist()
        if writer := _other_writer(source, started):
            notes.append(f"{source.file} holds the events of {writer} and is ignored")
        elif started and file_of.setdefault(began, source.file) != source.file:
            notes.append(f"{source.file} is a copy of {file_of[began]} and is ignored")
        else:
            kept.append(source)
    return tuple(kept), notes


def _other_writer(source: EventSource, began: Iterable[WorkerStarted]) -> str | None:
    """Return who wrote a file that its place says another process wrote; None if it fits."""
    started = {event.worker for event in began}
    if source.worker is None:
        return "a worker" if started else None
    if source.of_kind(Launched):
        return "a launcher"
    if started and source.worker not in started:
        return f"worker {min(started)}"
    return None


def _run_uids(source: EventSource) -> set[str]:
    """Return the uids of the runs that a file names."""
    started = {event.run for event in source.of_kind(WorkerStarted)}
    return (started | {event.run for event in source.of_kind(Launched)}) - {""}


def absent_workers(sources: Iterable[EventSource], segment: SegmentOpened) -> tuple[int, ...]:
    """Return the workers of a segment without records, empty if workers do not synchronise."""
    if segment.num_workers < 2 or has_coordinator(segment):
        return ()
    present = {
        source.worker for source in sources if source.last_ns
    }  # an empty file does not count
    return tuple(worker for worker in range(segment.num_workers) if worker not in present)


def missing_processes(
    run: Path,
    identity: RunIdentity | None,
    sources: Sequence[EventSource],
    segments: Sequence[SegmentOpened],
) -> list[str]:
    """Return a note for every process of which something tells, and whose records are missing."""
    return [
        *_not_files(run),
        *_missing_launcher(run, identity, sources),
        *_missing_folders(run, sources),
        *_missing_ends(sources),
        *_missing_workers(sources, segments),
    ]


def _not_files(run: Path) -> list[str]:
    """Return notes about event files that are links to nowhere, pipes or folders."""
    of_workers = ((folder.events, folder.stacks) for folder in worker_folders(run))
    paths = [run / LAUNCHER_EVENTS, *(path for pair in of_workers for path in pair)]
    return [
        f"{path.relative_to(run)} is not a file: its events are left out"
        for path in paths
        if lexists(path) and not path.is_file()
    ]


def _missing_launcher(
    run: Path, identity: RunIdentity | None, sources: Sequence[EventSource]
) -> list[str]:
    """Return notes about a run that a launcher started, and whose file is missing or empty.

    Nothing else tells how its processes ended, and what they used of the machine.
    """
    if identity is None or identity.recorded_by != ENGINE or not sources:
        return []
    if not any(path.exists() for path in launcher_files(run)):
        return [f"{LAUNCHER_EVENTS} is missing: what the launcher recorded is lost"]
    # Before a process ends in order, its launcher has written that it started.
    is_over = any(source.of_kind(Finished) or source.of_kind(Failed) for source in sources)
    return [
        f"{source.file} is empty: what the launcher recorded is lost"
        for source in sources
        if is_over and source.worker is None and not source.events and not source.left_out
    ]


def missing_contexts(run: Path, sources: Sequence[EventSource]) -> list[str]:
    """Return a note for each segment whose spec asks for its contexts, and that has none.

    No event reports their file, so the spec alone tells that it was there. A recorder that could
    not write it has noted that itself.
    """
    leader = next((source for source in sources if source.worker is not None), None)
    if leader is None:
        return []
    folder = worker_folder(run, leader.worker or 0, leader.generation or 0)
    stepped = set(leader.steps.segment.tolist())
    return [
        f"{table.relative_to(run)} is missing: the contexts of segment {opened.segment} are unknown"
        for opened in leader.of_kind(SegmentOpened)
        if (opened.spec.get("capture") or {}).get("contexts") is True
        and opened.segment in stepped
        and not lexists(table := folder.contexts(opened.segment))
    ]


def _missing_folders(run: Path, sources: Sequence[EventSource]) -> list[str]:
    """Return notes about processes that ended, by their launcher, but have no folder or events."""
    notes = []
    for source in sources:
        for event in source.of_kind(Exited) if source.worker is None else ():
            folder = worker_folder(run, event.worker, event.generation)
            missing = None if lexists(folder.path) else folder.path
            if missing is None and event.verdict == "finished" and not lexists(folder.events):
                missing = folder.events
            if missing is not None:
                notes.append(
                    f"{missing.relative_to(run)} is missing, although {source.file} mentions that "
                    "process: its records are lost"
                )
    return notes


def _missing_ends(sources: Sequence[EventSource]) -> list[str]:
    """Return notes about files cut between two lines, although their process ended in order."""
    # Not every process of an earlier version, whose lines have no numbers, wrote that it finished.
    written = {
        (source.worker, source.generation): source
        for source in sources
        if source.events and source.events[0].line
    }
    exits = [event for source in sources for event in source.of_kind(Exited)]
    exited = {(event.worker, event.generation) for event in exits}
    cut = {
        (source.file, event.worker)
        for source in sources
        for event in source.of_kind(Launched)
        if (process := (event.worker, event.generation)) not in exited
        and (records := written.get(process))
        and any(records.of_kind(kind) for kind in (Finished, Failed))
    }
    living = living_workers(sources) if cut else set()  # of which no launcher tells an end yet
    return [
        f"The end of {file} is missing: what the launcher recorded last is unknown"
        for file in sorted({file for file, worker in cut if worker not in living})
    ] + [
        f"The end of {source.file} is missing: what the process recorded last is unknown"
        for event in exits
        if event.verdict == "finished"
        and (source := written.get((event.worker, event.generation)))
        and not source.of_kind(Finished)
    ]


def _missing_workers(
    sources: Sequence[EventSource], segments: Sequence[SegmentOpened]
) -> list[str]:
    notes = []
    for segment in segments:
        absent = absent_workers(sources, segment)
        if absent:
            names = ", ".join(map(str, absent[:10])) + (", ..." if len(absent) > 10 else "")
            notes.append(
                f"Segment {segment.segment} has {segment.num_workers} workers, and the records of "
                f"{names} are not in this folder: waits across workers are unknown"
            )
    return notes


def recorded_files(run: Path, sources: Sequence[EventSource]) -> tuple[RecordedFile, ...]:
    """Return every file that was complete when its event was written."""
    return tuple(file for source in sources for file in _of_source(run, source))


def missing_files(
    files: Sequence[RecordedFile], existing: Mapping[str, Sequence[str]]
) -> list[str]:
    """Return notes about missing files, one note per folder; `existing` are the tables."""
    there = {path for paths in existing.values() for path in paths}
    by_folder: dict[Path, list[RecordedFile]] = {}
    for file in files:
        if file.path not in there and not _is_there(file.path):
            by_folder.setdefault(Path(file.path).parent, []).append(file)
    return [_note(folder, files) for folder, files in by_folder.items()]


def unreported_files(
    files: Mapping[str, Sequence[str]], recorded: Mapping[str, RecordedFile]
) -> set[str]:
    """Return the tables of windows that no event reports: being written, or of another run.

    Only of processes whose events report checksums. Events of earlier versions report none, and
    not every table.
    """
    unknown = [path for name in WINDOW_TABLES for path in files[name] if path not in recorded]
    if not unknown:
        return set()  # the usual case: do not look at the folders of thousands of files
    windows = [(Path(path).parent, file.crc32 is not None) for path, file in recorded.items()]
    checked = {window.parent for window, has_checksum in windows if has_checksum}
    unchecked = {window for window, has_checksum in windows if not has_checksum}
    return {
        path
        for path in unknown
        if Path(path).parent.parent in checked and Path(path).parent not in unchecked
    }


def unreported_notes(unreported: Iterable[str]) -> list[str]:
    """Return a note for each window with such tables."""
    by_window: dict[Path, list[str]] = {}
    for path in sorted(map(Path, unreported)):
        by_window.setdefault(path.parent, []).append(path.name)
    return [
        f"{', '.join(names)} of {window.parent.name}/{window.name} may be of another run and "
        f"{'is' if len(names) == 1 else 'are'} ignored: no event reports it"
        for window, names in by_window.items()
    ]


def unconverted_captures(run: Path) -> str | None:
    """Return a note about captures that no process has converted, and how to convert them."""
    number = sum(len(folder.all_pending()) for folder in worker_folders(run))
    if not number:
        return None
    have, them = ("has", "it") if number == 1 else ("have", "them")
    return (
        f"{counted(number, 'capture')} {have} not been converted to tables yet. If the launcher "
        f"has ended, too, strategy-lab recover {shlex.quote(str(run))} converts {them}"
    )


def _of_source(run: Path, source: EventSource) -> Iterator[RecordedFile]:
    if source.worker is None or source.generation is None:
        return
    folder = worker_folder(run, source.worker, source.generation).path
    for window in source.of_kind(WindowCaptured):
        if window.error is None:
            yield from _of_window(window, f"{folder}/{window.folder}")
    for placement in source.of_kind(PlacementRecorded):
        if placement.file is not None:
            path = f"{folder}/{placement.file}"
            yield RecordedFile("placement", path, placement.num_rows, placement.crc32)


def _of_window(window: WindowCaptured, folder: str) -> Iterator[RecordedFile]:
    for name, file in window.tables.items():
        yield RecordedFile(name, f"{folder}/{name}.parquet", file.num_rows, file.crc32)
    for name in WINDOW_TABLES if not window.tables else ():
        if name not in ADDED_LATER:
            rows = window.num_spans if name == "spans" else None
            yield RecordedFile(name, f"{folder}/{name}.parquet", rows)


def checksum(path: Path) -> int:
    """Return the CRC-32 of a file. Raises OSError if it cannot be read."""
    crc = 0
    with open_file(path) as file:
        while block := file.read(_CHUNK_BYTES):
            crc = zlib.crc32(block, crc)
    return crc


def _is_there(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # the error is noted when the file is read
    return True


def _note(folder: Path, files: Sequence[RecordedFile]) -> str:
    names = ", ".join(Path(file.path).name for file in files)
    is_window = folder.name.startswith("window")
    where = f"{folder.parent.name}/{folder.name}" if is_window else folder.name
    verb = "is" if len(files) == 1 else "are"
    return f"{names} of {where} {verb} missing: events.jsonl says that it was recorded"
