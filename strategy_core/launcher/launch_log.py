"""What the launcher puts on record of a run's processes: their launch, their end, and remarks."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.run.event_log import EventLog
from strategy_lab.profiles.run.events import Event, Exited, Launched
from strategy_lab.profiles.run.layout import launcher_file
from strategy_lab.profiles.run.manifest import uid_of

FINE = ("finished", "stopped", "replaced")
"""Verdicts of processes that ended as they should."""


class LaunchLog:
    """A launcher's event file of one run.

    `process` and `host` are told where it has only that process of a cluster, on that machine.
    """

    def __init__(self, run: Path, process: int = 0, host: str | None = None) -> None:
        self._log = EventLog(launcher_file(run, process))
        self._host = host
        self._run = uid_of(run)

    def write(self, event: Event) -> None:
        with contextlib.suppress(RunFolderError):  # a full disk: the worker's story says so
            self._log.write(event)

    def launched(self, group: ProcessGroup) -> None:
        for note in group.network.notes if group.network else ():
            self.write(note)
        for member in group.members:
            self.launched_one(group, member)

    def launched_one(self, group: ProcessGroup, member: WorkerMonitor) -> None:
        process, folder = member.process, member.folder
        task = group.cluster.tasks[folder.worker] if group.cluster else None
        self.write(
            Launched(
                folder.worker,
                folder.generation,
                process.pid,
                process.started_ns,
                member.from_spare,
                task.title if task else None,
                task.address if task else None,
                self._host,
                self._run,
            )
        )

    def exited(self, group: ProcessGroup) -> None:
        """Every process of the group has ended; who only followed another one is told apart."""
        culprit = group.culprit()
        for member in group.members:
            self.exited_one(group, member, None if member is culprit else culprit.folder.worker)

    def exited_one(
        self, group: ProcessGroup, member: WorkerMonitor, follows: int | None = None
    ) -> None:
        verdict = group.verdict(member)
        is_fine = verdict.verdict in FINE
        self.write(
            Exited(
                member.folder.worker,
                member.folder.generation,
                member.process.poll(),
                verdict.verdict,
                verdict.message,
                None if is_fine else follows,
                None if is_fine else member.lost_ns(time.monotonic(), time.time_ns()),
            )
        )

    def close(self) -> None:
        self._log.close()
