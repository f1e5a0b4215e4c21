"""Starts the processes of a run: all of them on one host, or one host's part of a run on several.

`RunControl` is handed a `Deployment`, or its subclass `multi_host_run.MultiHost`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strategy_core.cluster import tasks
from strategy_core.cluster.network.isolation import lay_network
from strategy_core.launcher.inbox import Inbox
from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import ProcessStart, WorkerMonitor
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.processes import protocol
from strategy_profiles.spec.run_spec import RunSpec


@dataclass(frozen=True, slots=True)
class GroupStart:
    """What the processes of one generation of a run have in common."""

    run: Path
    spec: RunSpec
    generation: int = 0
    checkpoint: Path | None = None
    """The checkpoint to start from; None for a new run."""
    replacement: protocol.Replacement | None = None
    """The request for fresh processes that this generation fulfils; None if there was none."""

    def command(self, number: int, process: int = 0, **fields: Any) -> protocol.Run:
        """Return the command, with number `number`, that starts the run in process `process`."""
        return protocol.Run(
            number,
            str(self.run.resolve()),
            process,
            self.generation,
            self.spec.to_json(),
            str(self.checkpoint) if self.checkpoint else None,
            asdict(self.replacement) if self.replacement else None,
            **fields,
        )


def start_process(start: ProcessStart, workers: WorkerPool, inbox: Inbox) -> WorkerMonitor:
    """Start one process; what it says arrives in `inbox`. Raises LabError or OSError."""
    process, from_spare = workers.take(start.namespaces)
    worker = WorkerMonitor(process, start.folder, from_spare, time.monotonic(), start)
    process.listen(lambda message: inbox.put((worker, message)))
    process.send(start.command)
    return worker


class Deployment:
    """All processes of a run on this host; `MultiHost` has one of them, with others elsewhere.

    Called by the thread of the run alone. `held` is closed with the run: what it holds of its
    folder.
    """

    first_number = 1
    """Number of the first command that this launcher sends."""
    can_restart = True
    """Whether this launcher can restart the run after a loss without other launchers."""

    def __init__(self, held: contextlib.ExitStack | None = None) -> None:
        self._held = held or contextlib.ExitStack()

    def launch_log(self, run: Path) -> LaunchLog:
        """The event file that this launcher writes."""
        return LaunchLog(run)

    def start_group(
        self, start: GroupStart, workers: WorkerPool, inbox: Inbox, numbers: Iterator[int]
    ) -> ProcessGroup:
        """Start the processes that this host has, all or none; raises LabError or OSError."""
        roles = tasks.roles(start.spec)
        if not roles:
            only = ProcessStart(start.command(next(numbers)))
            return ProcessGroup([start_process(only, workers, inbox)])
        network = lay_network(start.spec.network, len(roles))
        cluster = tasks.cluster_of(start.spec, network.addresses, network.profilers)
        described = cluster.to_json()
        group = ProcessGroup([], cluster, network=network)
        try:
            for process, namespaces in enumerate(network.namespaces):
                command = start.command(next(numbers), process, cluster=described)
                group.workers.append(
                    start_process(ProcessStart(command, namespaces), workers, inbox)
                )
        except BaseException:
            for worker in group.workers:
                worker.process.kill()
            network.close()
            raise
        return group

    def take_message(self, _group: ProcessGroup, _message: Mapping[str, Any]) -> bool:
        """Act on a message of the current group; returns whether the run acts on it, too."""
        return True

    def stop(self, _group: ProcessGroup) -> bool:
        """Stop in this deployment's own way; False if the group is sent Stop."""
        return False

    def check(self, _group: ProcessGroup, _log: LaunchLog, _now: float) -> list[protocol.Command]:
        """Watch the group's peers on other hosts; returns commands that were left for the run."""
        return []

    def close(self) -> None:
        """The run is over, or could not start."""
        self._held.close()
