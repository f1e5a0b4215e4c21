"""Starts the processes of a run: each is one call with everything that the process needs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from strategy_core.cluster import tasks
from strategy_core.cluster.network.isolation import lay_network
from strategy_core.launcher.inbox import Inbox
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.process_start import ProcessStart
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.processes import protocol
from strategy_lab.profiles.spec.run_spec import RunSpec


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
    process, from_spare = workers.take(start.network)
    worker = WorkerMonitor(process, start.folder, from_spare, time.monotonic(), start)
    process.listen(lambda message: inbox.put((worker, message)))
    process.send(start.command)
    return worker


def start_group(
    start: GroupStart, workers: WorkerPool, inbox: Inbox, numbers: Iterator[int]
) -> ProcessGroup:
    """Start every process that the spec takes, on this host.

    Raises LabError or OSError if a process or the network cannot be started; no process is left.
    """
    roles = tasks.roles(start.spec)
    if not roles:
        only = ProcessStart(start.command(next(numbers)))
        return ProcessGroup([start_process(only, workers, inbox)])
    network = lay_network(start.spec.network, len(roles))
    cluster = tasks.cluster_of(start.spec, network.addresses, network.profilers)
    described = cluster.to_json()
    group = ProcessGroup([], cluster, network=network)
    try:
        for process, namespaces in enumerate(network.entrances):
            command = start.command(next(numbers), process, cluster=described)
            group.workers.append(start_process(ProcessStart(command, namespaces), workers, inbox))
    except BaseException:
        for worker in group.workers:
            worker.process.kill()
        network.close()
        raise
    return group
