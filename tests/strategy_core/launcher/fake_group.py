"""A process group whose processes are fake: a test sets what they say, do and take."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strategy_core.cluster.tasks import cluster_of
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import ProcessStart, WorkerMonitor
from strategy_core.processes import protocol
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import parse_spec
from tests.event_records import usual


@dataclass
class FakeProcess:
    """A process that ends when the test or its launcher ends it."""

    pid: int = 1
    doing: str = "sleeping"
    cpu_s: float = 0.0
    exit_code: int | None = None
    peak_bytes: int | None = None
    ready: dict[str, Any] | None = None

    def cpu_seconds(self) -> float:
        return self.cpu_s

    def sample_memory(self) -> None: ...

    def state(self) -> str:
        return self.doing

    def poll(self) -> int | None:
        return self.exit_code

    def stderr_tail(self, _log: Path | None = None) -> str:
        return ""

    def kill(self) -> None:
        self.ends(-signal.SIGKILL)

    def ends(self, exit_code: int) -> None:
        self.doing = "zombie"
        self.exit_code = exit_code if self.exit_code is None else self.exit_code


def happens(worker: WorkerMonitor, now: float, **record: Any) -> None:
    """The worker writes an event, and its launcher reads it."""
    worker.folder.path.mkdir(parents=True, exist_ok=True)
    with worker.folder.events.open("a") as file:
        file.write(json.dumps(usual(record)) + "\n")
    worker.observe(now)


class FakeGroup:
    """A cluster of fake processes: all of them workers, or a coordinator, workers and a server."""

    def __init__(self, strategy: str, folder: Path, size: int = 4) -> None:
        self.folder = folder
        roles = {"workers": size}
        if strategy == "parameter-server":
            roles = {"workers": size - 2, "parameter_servers": 1}
        spec = parse_spec({"strategy": strategy, "global_batch_size": 48, **roles})
        cluster = cluster_of(spec, [f"127.0.0.1:{2222 + number}" for number in range(size)])
        self.processes = [FakeProcess(pid) for pid in range(size)]
        workers: list[Any] = []
        for number, process in enumerate(self.processes):
            start = ProcessStart(protocol.Run(1, str(folder), number, 0, spec.to_json()))
            own_folder = worker_folder(folder, number)
            own_folder.path.mkdir(parents=True)
            workers.append(WorkerMonitor(process, own_folder, False, 0.0, start))  # type: ignore[arg-type]
        self.group = ProcessGroup(workers, cluster)

    def happens(self, number: int, now: float, **record: Any) -> None:
        happens(self.group.workers[number], now, **record)

    def says(self, number: int, now: float, *messages: dict[str, Any]) -> None:
        for message in messages:
            self.group.take_message(self.group.workers[number], message, now)
