"""The difference between a run on one host and one host's part of a run on several.

`RunControl` is handed one of these. `SingleHost` is here; `multi_host_run.MultiHost` is the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from strategy_core.launcher.group_start import GroupStart, start_group
from strategy_core.launcher.inbox import Inbox
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.processes import protocol


class Deployment(Protocol):
    """Called by the thread of the run alone."""

    first_number: int
    """Number of the first command that this launcher sends."""
    can_restart: bool
    """Whether this launcher can restart the run after a loss without other launchers."""

    def launch_log(self, run: Path) -> LaunchLog:
        """The event file that this launcher writes."""

    def start_group(
        self, start: GroupStart, workers: WorkerPool, inbox: Inbox, numbers: Iterator[int]
    ) -> ProcessGroup:
        """Start the processes that this host has; raises LabError or OSError."""

    def take_message(self, group: ProcessGroup, message: Mapping[str, Any]) -> bool:
        """Act on a message of the current group; returns whether the run acts on it, too."""

    def stop(self, group: ProcessGroup) -> bool:
        """Stop in this deployment's own way; False if the group is sent Stop."""

    def check(self, group: ProcessGroup, log: LaunchLog, now: float) -> list[protocol.Command]:
        """Watch the group's peers on other hosts; returns commands that were left for the run."""

    def close(self) -> None:
        """The run is over, or could not start."""


class SingleHost:
    """All processes of the run are on this host."""

    first_number = 1
    can_restart = True

    def launch_log(self, run: Path) -> LaunchLog:
        return LaunchLog(run)

    def start_group(
        self, start: GroupStart, workers: WorkerPool, inbox: Inbox, numbers: Iterator[int]
    ) -> ProcessGroup:
        return start_group(start, workers, inbox, numbers)

    def take_message(self, _group: ProcessGroup, _message: Mapping[str, Any]) -> bool:
        return True

    def stop(self, _group: ProcessGroup) -> bool:
        return False

    def check(self, _group: ProcessGroup, _log: LaunchLog, _now: float) -> list[protocol.Command]:
        return []

    def close(self) -> None:
        pass
