"""Appends an ending to the event log of a process that could not write it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from strategy_profiles.run.event_log import EventLog, read_events
from strategy_profiles.run.events import Event, StepDone, WorkerStarted
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.run.manifest import uid_of


def append_ending(record: WorkerFolder, pid: int, ending: Callable[[int], Event]) -> None:
    """Append an ending, made from the number of steps, to the log of a process.

    Raises OSError or RunFolderError if it cannot be written.
    """
    path = record.events
    events, end = read_events(path)
    if path.exists() and path.stat().st_size > end:
        os.truncate(path, end)  # the program was killed while it wrote a line
    log = EventLog(path)
    if not events:
        log.write(worker_started(record, pid))
    log.write(ending(sum(isinstance(event, StepDone) for event in events)))
    log.close()


def worker_started(record: WorkerFolder, pid: int) -> WorkerStarted:
    """The first event of the log of a process that recorded no step."""
    uid = uid_of(record.path.parent)
    return WorkerStarted(record.worker, pid, time.time_ns(), time.monotonic_ns(), uid)
