"""The side of `strategy-lab attach`: finds programs that wait, and asks one to record.

A request is a command in the mailbox of the program's run folder. The program makes the run folder
that the request names, which shows that it heard, and answers in its own event log.
"""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.command_mailbox import leave_command
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.event_log import read_events
from strategy_profiles.run.events import CommandAnswered, Note, WorkerStarted
from strategy_profiles.run.layout import RUN_FILE, worker_folder
from strategy_profiles.run.manifest import WAITS, check_is_free, read_run_file
from strategy_profiles.run.status import derive_status

_POLL_S = 0.1
HEARD_WITHIN_S = 10.0
"""A program that has not accepted a request by then is stopped, or a call holds the GIL."""
_STOPS_WITHIN_S = 150.0
"""The last captures are converted before the answer."""


@dataclass(frozen=True, slots=True)
class WaitingProgram:
    """A program that waits."""

    run: Path
    pid: int
    command: str
    started_ns: int


def waiting_programs(runs: Path) -> list[WaitingProgram]:
    """The programs that wait in a folder of runs, by name. Those that have ended are left out."""
    folders = sorted(runs.iterdir()) if runs.is_dir() else []
    return [program for run in folders if (program := _waiting(run)) is not None]


def _waiting(run: Path) -> WaitingProgram | None:
    identity = read_run_file(run) if run.is_dir() else None
    if identity is None or identity.recorded_by != WAITS:
        return None
    sources = read_sources(run)
    started = [event for source in sources for event in source.of_kind(WorkerStarted)]
    if not started or derive_status(sources).is_over:
        return None
    notes = [event for source in sources for event in source.of_kind(Note)]
    command = str(next((note.fields.get("command") for note in notes if note.fields), ""))
    return WaitingProgram(run, started[0].pid, command, started[0].realtime_ns)


def check_waits(run: Path) -> None:
    """Raise RunFolderError, with the reason, if no program waits in a run folder."""
    advice = "strategy-lab attach without a RUN lists the programs that wait"
    if _is_closed_to_us(run):
        owner = _owner(run)
        raise RunFolderError(
            f"The program of {run} belongs to {owner}, and its run folder cannot be written",
            advice=f"Attach to it as {owner}",
        )
    identity = read_run_file(run)
    if identity is None:
        raise RunFolderError(f"There is no run in {run}", advice=advice)
    if identity.recorded_by != WAITS:
        raise RunFolderError(
            f"The run in {run} is not of a program that waits",
            advice="Start the program with strategy-lab trace --idle",
        )
    sources = read_sources(run)
    if not sources:
        raise RunFolderError(
            f"The program of {run} has not imported TensorFlow yet", advice="Attach to it later"
        )
    status = derive_status(sources)
    if status.is_over:
        ended = f"{status.state}: {status.message}" if status.message else status.state
        raise RunFolderError(f"The program of {run} has ended ({ended})", advice=advice)


def _is_closed_to_us(run: Path) -> bool:
    """Whether the folder is there, and this user may not read or write in it."""
    try:
        (run / RUN_FILE).exists()
    except PermissionError:
        return True
    return run.is_dir() and not os.access(run, os.R_OK | os.W_OK | os.X_OK)


def _owner(run: Path) -> str:
    for folder in (run, *run.parents):
        try:
            uid = folder.stat().st_uid
        except PermissionError:
            continue
        try:
            return pwd.getpwuid(uid).pw_name
        except KeyError:
            return f"user {uid}"
    return "another user"


class Attachment:
    """One request to a program that waits, until it is answered."""

    def __init__(self, program: Path, run: Path, wish: dict[str, Any]) -> None:
        """Send the request. `run` is the folder to record into.

        Raises RunFolderError if the program does not wait, or does not take the request up.
        """
        check_waits(program)
        check_is_free(run)  # its own `run.json` is how the program says that it heard
        self.run = run
        self._program = program
        self._log = worker_folder(program, 0).events
        self._answer: CommandAnswered | None = None
        # Answers of earlier requests come before this one's.
        self._cursor = read_events(self._log)[1]
        self._number = leave_command(program, "record", {"run": str(run.resolve()), **wish})
        if not self._wait(HEARD_WITHIN_S, self._is_heard):
            leave_command(program, "stop")
            raise RunFolderError(
                f"The program of {program} has not answered within {HEARD_WITHIN_S:.0f} s: it is "
                "stopped, or a call holds Python's lock",
                advice="Attach again once it goes on",
            )
        self._raise_if_refused()

    def wait(self, within_s: float) -> int:
        """Wait for the end of the recording. Returns the number of its steps.

        It ends early if no step ends for `within_s`. Raises RunFolderError if there is no
        recording, with the reason.
        """
        while not self._wait(within_s, self._is_answered, self._progress):
            leave_command(self._program, "stop")
            if not self._wait(_STOPS_WITHIN_S, self._is_answered):
                raise RunFolderError(
                    f"The program of {self._program} has done no step for {within_s:.0f} s, and "
                    f"does not answer; what it has recorded is in {self.run}"
                )
        self._raise_if_refused()
        return self._answer.step or 0 if self._answer is not None else 0

    def stop(self) -> None:
        """End the recording after the current step."""
        leave_command(self._program, "stop")

    def _wait(
        self,
        seconds: float,
        is_there: Callable[[], bool],
        progress: Callable[[], Any] = lambda: None,
    ) -> bool:
        """Wait until something is there, or there was no progress for so many seconds."""
        last, until_s = progress(), time.monotonic() + seconds
        while not is_there():
            if (now := progress()) != last:
                last, until_s = now, time.monotonic() + seconds
            if time.monotonic() >= until_s:
                return False
            time.sleep(_POLL_S)
        return True

    def _progress(self) -> int:
        log = worker_folder(self.run, 0).events
        return log.stat().st_size if log.exists() else 0

    def _is_heard(self) -> bool:
        return (self.run / RUN_FILE).exists() or self._is_answered()

    def _is_answered(self) -> bool:
        is_over = derive_status(read_sources(self._program)).is_over
        events, self._cursor = read_events(self._log, self._cursor)
        for event in events:
            if isinstance(event, CommandAnswered) and event.number == self._number:
                self._answer = event
        if self._answer is None and is_over:
            check_waits(self._program)
        return self._answer is not None

    def _raise_if_refused(self) -> None:
        if self._answer is not None and self._answer.status == "rejected":
            raise RunFolderError(
                f"The program of {self._program} was not recorded: {self._answer.message}"
            )
