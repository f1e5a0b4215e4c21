"""Converts the captures that ended workers have left unconverted.

A converter process ends with its worker, and a capture's conversion takes seconds on a busy
machine. So of a run that failed soon after its first capture, the raw file was all that was left.
The launcher converts what its workers have left. If it was killed as well, or if there was none,
`strategy-lab recover` does it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.timeouts import CLOSING_S
from strategy_profiles.capture.helper import Job
from strategy_profiles.capture.pending import Pending, raw_capture, read_pending
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.event_log import EventLog, read_events
from strategy_profiles.run.events import Note, WindowCaptured
from strategy_profiles.run.layout import WorkerFolder, worker_folders
from strategy_profiles.run.status import living_workers

_COMMAND = module_command("strategy_profiles.capture.helper")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a capture."""

    capture: str
    error: str | None
    """Why it was not converted; None if it was."""


def recover_captures(run: Path) -> list[Outcome]:
    """Convert the captures that a run has left whose processes and launcher have ended.

    Raises RunFolderError if a process that has left one still runs, or if the run cannot be
    written.
    """
    folders = [folder for folder in worker_folders(run) if folder.all_unconverted()]
    if not folders:
        return []
    living = living_workers(read_sources(run))
    for folder in folders:
        if folder.worker in living:
            raise RunFolderError(
                f"Worker {folder.worker} of {run} still runs and converts its captures itself",
                advice="Repeat the command once it has ended",
            )
    outcomes = convert_last_captures(folders)
    return outcomes + [each for folder in folders for each in _undescribed(folder)]


def convert_last_captures(
    folders: Iterable[WorkerFolder], timeout_s: float = CLOSING_S
) -> list[Outcome]:
    """Convert what is left in the folders of workers that have ended, and record it there.

    `timeout_s` is the limit of one capture. Raises RunFolderError if a folder cannot be written.
    """
    return [
        outcome
        for folder in folders
        if folder.all_pending()
        for outcome in _convert_all(folder, timeout_s)
    ]


def _convert_all(folder: WorkerFolder, timeout_s: float) -> list[Outcome]:
    _check_has_no_links(folder)
    with _open_locked(folder.events):
        left, unusable = read_pending(folder)  # of two processes that wait, one finds none
        log = EventLog(folder.events)
        try:
            outcomes = [_convert(each, folder, log, timeout_s) for each in left]
        finally:
            log.close()
    error = "its description is damaged, or names files outside of the run"
    return outcomes + [Outcome(f"{folder.path.name}/{path.name}", error) for path in unusable]


def _convert(pending: Pending, folder: WorkerFolder, log: EventLog, timeout_s: float) -> Outcome:
    number = pending.job.number
    answer = (
        _answer(pending.job, timeout_s)
        if pending.is_written or Path(pending.job.xplane).exists()
        else {"error": "Its process ended before the profiler had written it"}
    )
    event = pending.event_of(answer)
    log.write(event)
    if event.error is None:
        text = f"Capture window {number} was converted after its worker had ended."
        log.write(Note("info", text))
        shutil.rmtree(folder.unconverted(number), ignore_errors=True)
    pending.remove(folder)
    return Outcome(f"{folder.path.name}/{folder.window(number).name}", event.error)


def _answer(job: Job, timeout_s: float) -> dict[str, Any]:
    """The converter's answer. Each capture has a process: one that takes all memory ends its own
    alone."""
    try:
        said = subprocess.run(
            [*_COMMAND, str(os.getpid())],
            input=json.dumps(asdict(job)) + "\n",
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=with_own_code(os.environ),
            text=True,
            timeout=timeout_s,
            check=False,
        ).stdout
    except subprocess.TimeoutExpired:
        said = ""
    if said.endswith("\n"):  # otherwise the process was killed, perhaps within the line
        answer: dict[str, Any] = json.loads(said)
        return answer
    error = "Its worker ended before it was converted, and so did the process that tried it then"
    return {"error": f"{error}; the raw capture is kept"}


def _undescribed(folder: WorkerFolder) -> list[Outcome]:
    """The raw captures of which neither a description nor an event says anything, as a full disk,
    an earlier version or the coordinator of a pod leaves them."""
    events = read_events(folder.events)[0] if folder.events.is_file() else []
    known = {event.window for event in events if isinstance(event, WindowCaptured)}
    unknown = [number for number in folder.all_unconverted() if number not in known]
    raws = [raw_capture(folder, each) for each in unknown if not folder.pending(each).exists()]
    return [
        Outcome(
            f"{folder.path.name}/{raw.relative_to(folder.path).parts[0]}",
            "its description was not written, so its devices and segment are not known; "
            f"strategy-lab import {shlex.quote(str(raw))} opens the raw file as a run of its own",
        )
        for raw in raws
        if raw
    ]


def _check_has_no_links(folder: WorkerFolder) -> None:
    """Raise RunFolderError if writing into the folder could write elsewhere."""
    for path in (folder.path, *folder.path.iterdir()):
        if path.is_symlink():
            raise RunFolderError(
                f"{path} is a link: what is converted is written into the run's own folder only",
                advice="Copy to its place what it leads to",
            )


def _open_locked(events: Path) -> BinaryIO:
    """Open the event file, and wait while another process converts captures of its folder.

    The lock ends with the file's descriptor. Raises RunFolderError if it cannot be written.
    """
    if events.exists() and not events.is_file():
        raise RunFolderError(f"{events} is not a file: nothing can be recorded in it")
    try:
        opened = events.open("ab")
    except OSError as error:
        raise RunFolderError(f"{events} cannot be written: {error.strerror}") from None
    fcntl.flock(opened, fcntl.LOCK_EX)
    return opened
