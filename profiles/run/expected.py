"""Processes that events mention and whose records are missing, or belong to another run.

Numbers made from the rest would look like those of a whole run. Missing tables are in
`recorded_tables`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os.path import lexists
from pathlib import Path

from strategy_lab.profiles.run.event_files import EventSource
from strategy_lab.profiles.run.events import Exited, Launched, SegmentOpened, WorkerStarted
from strategy_lab.profiles.run.layout import RUN_FILE, worker_folder
from strategy_lab.profiles.run.manifest import RunIdentity
from strategy_lab.profiles.run.topology import has_coordinator


def of_this_run(
    identity: RunIdentity | None, sources: Iterable[EventSource]
) -> tuple[RunIdentity | None, tuple[EventSource, ...], list[str]]:
    """Without what belongs to another run, and a note for each piece of it.

    That is `run.json` itself if all other files name another run.
    """
    sources = tuple(sources)
    if identity is None or not identity.uid:
        return identity, sources, []
    own = {identity.uid, *identity.parts}
    named = [_named(source) for source in sources]
    if any(named) and not own & set().union(*named):
        note = f"{RUN_FILE} belongs to another run: what was asked of this one is unknown"
        return None, sources, [note]
    kept, notes = [], []
    for source, runs in zip(sources, named, strict=True):
        if runs <= own:
            kept.append(source)
        else:
            file = Path(source.file)
            name = file.name if source.worker is None else file.parent
            notes.append(f"{name} belongs to another run and is ignored")
    return identity, tuple(kept), notes


def _named(source: EventSource) -> set[str]:
    """The runs that a file says to be of."""
    started = {event.run for event in source.of_kind(WorkerStarted)}
    return (started | {event.run for event in source.of_kind(Launched)}) - {""}


def absent_workers(sources: Iterable[EventSource], segment: SegmentOpened) -> tuple[int, ...]:
    """Workers that a segment's replicas wait for and of which the folder has no record."""
    if segment.num_workers < 2 or has_coordinator(segment):
        return ()
    present = {
        source.worker for source in sources if source.last_ns
    }  # an emptied file tells nothing
    return tuple(worker for worker in range(segment.num_workers) if worker not in present)


def missing_pieces(
    run: Path, sources: Sequence[EventSource], segments: Sequence[SegmentOpened]
) -> list[str]:
    """A note for everything that events mention and that is missing."""
    return [
        *_missing_processes(run, sources),
        *_missing_workers(sources, segments),
    ]


def _missing_processes(run: Path, sources: Sequence[EventSource]) -> list[str]:
    """Processes that their launcher saw end and whose folder is not there."""
    notes = []
    for source in sources:
        for event in source.of_kind(Exited) if source.worker is None else ():
            folder = worker_folder(run, event.worker, event.generation).path
            if not lexists(folder):
                notes.append(
                    f"{folder.name} is missing, although {source.file} mentions that process: "
                    "its records are lost"
                )
    return notes


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
