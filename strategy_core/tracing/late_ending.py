"""Appends an ending to the event log of a process that could not write it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from strategy_lab.profiles.run.event_log import EventLog, read_events
from strategy_lab.profiles.run.events import Event, StepDone, WorkerStarted
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.run.manifest import uid_of


def append_ending(run: Path, pid: int, ending: Callable[[int], Event]) -> None:
    """Append an ending, made from the number of steps, to the log of the run's first process.

    Raises OSError or RunFolderError if it cannot be written.
    """
    path = worker_folder(run, 0).events
    events, end = read_events(path)
    if path.exists() and path.stat().st_size > end:
        os.truncate(path, end)  # the program was killed while it wrote a line
    log = EventLog(path)
    if not events:
        log.write(WorkerStarted(0, pid, time.time_ns(), time.monotonic_ns(), uid_of(run)))
    log.write(ending(sum(isinstance(event, StepDone) for event in events)))
    log.close()
