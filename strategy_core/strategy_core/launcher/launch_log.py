"""Records the launch and the end of a run's processes, and notes, in the launcher's event file."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.state_machine import StateMachine
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.processes import protocol
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import CommandSent, Event, Exited, Launched, Note
from strategy_profiles.run.layout import launcher_file
from strategy_profiles.run.manifest import uid_of

EXPECTED = ("finished", "stopped", "replaced")
"""Verdicts of processes that ended as they should."""


class LaunchLog:
    """The event file of one launcher; `host` is its machine if other hosts have other processes."""

    def __init__(self, run: Path, process: int = 0, host: str | None = None) -> None:
        self._log = EventLog(launcher_file(run, process))
        self._host = host
        self._run = uid_of(run)

    def write(self, event: Event) -> None:
        with contextlib.suppress(RunFolderError):  # the worker reports a full disk
            self._log.write(event)

    def sent(self, command: protocol.Stop | protocol.Reconfigure) -> None:
        changes = command.changes if isinstance(command, protocol.Reconfigure) else {}
        self.write(CommandSent(command.number, command.command, changes))

    def launched(self, group: ProcessGroup) -> None:
        for note in group.network.notes if group.network else ():
            self.write(note)
        for worker in group.workers:
            self.launched_one(group, worker)

    def launched_one(self, group: ProcessGroup, worker: WorkerMonitor) -> None:
        process, folder = worker.process, worker.folder
        task = group.cluster.tasks[folder.worker] if group.cluster else None
        if process.start_note is not None:
            self.write(Note("warning", process.start_note))
        self.write(
            Launched(
                folder.worker,
                folder.generation,
                process.pid,
                process.started_ns,
                worker.from_spare,
                task.title if task else None,
                task.address if task else None,
                self._host,
                self._run,
            )
        )

    def exited(self, group: ProcessGroup) -> None:
        """Record the ends of all processes; those after the root cause name it in `follows`."""
        cause = group.root_cause()
        for worker in group.workers:
            self.exited_one(group, worker, None if worker is cause else cause.folder.worker)

    def exited_one(
        self, group: ProcessGroup, worker: WorkerMonitor, follows: int | None = None
    ) -> None:
        reason = group.exit_reason(worker)
        is_expected = reason.verdict in EXPECTED
        self.write(
            Exited(
                worker.folder.worker,
                worker.folder.generation,
                worker.process.poll(),
                reason.verdict,
                reason.message,
                None if is_expected else follows,
                None if is_expected else worker.lost_ns(time.monotonic(), time.time_ns()),
            )
        )

    def rejected(self, group: ProcessGroup, message: str, numbers: Iterator[int]) -> None:
        """Move the records of a group that could not take over out of the run's own."""
        for worker in group.workers:
            own = worker.folder.path
            kept = own.with_name(f"rejected-{own.name}-{next(numbers)}")
            with contextlib.suppress(OSError):
                shutil.move(own, kept)
            what = "A new worker could not take over; its records are stored separately"
            self.write(Note("warning", what, {"folder": kept.name, "message": message}))

    def illegal_transitions(self, machines: Iterable[StateMachine[Any, Any]]) -> None:
        for machine in machines:
            for sentence in machine.refused:
                self.write(Note("warning", sentence))
            machine.refused.clear()

    def close(self) -> None:
        self._log.close()
