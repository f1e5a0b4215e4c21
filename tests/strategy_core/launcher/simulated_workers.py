"""Workers that a test plays: no process, but what a real one writes, says and is sent."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from strategy_core.cluster import tasks
from strategy_core.launcher.deployment import Deployment, GroupStart, start_process
from strategy_core.launcher.inbox import Inbox
from strategy_core.launcher.process_group import ProcessGroup
from strategy_core.launcher.worker_monitor import ProcessStart
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.processes import protocol
from strategy_profiles.run.layout import WorkerFolder, worker_folder
from tests.event_records import usual

Action = Callable[[], None]


class SimulatedWorker:
    """A worker process as its launcher uses one, and what it may do next."""

    pid = 0
    started_ns = 0
    peak_bytes = None
    start_note = None
    ready = None
    """Never ready: the launcher would send a signal to a process that hangs."""

    def __init__(self) -> None:
        self.exit_code: int | None = None
        self.phase = "starting"
        self.command: protocol.Run | None = None
        self._sent: list[protocol.Command] = []
        self._listener: Callable[[dict[str, Any]], None] = lambda _message: None
        self._has_opened = False
        self.has_begun = False
        self._num_steps = 0

    # What the launcher asks of a process.

    def listen(self, listener: Callable[[dict[str, Any]], None]) -> None:
        self._listener = listener

    def send(self, command: protocol.Command) -> bool:
        if isinstance(command, protocol.Run):
            self.command = command
        else:
            self._sent.append(command)
        return self.exit_code is None

    def kill(self) -> None:
        self._exit(-signal.SIGKILL)

    def poll(self) -> int | None:
        return self.exit_code

    def wait(self, _timeout_s: float) -> int | None:
        return self.exit_code

    def state(self) -> str:
        return "sleeping" if self.exit_code is None else "zombie"

    def stderr_tail(self, _log: Path | None = None) -> str:
        return ""

    def cpu_seconds(self) -> float:
        return 0.0

    def sample_memory(self) -> None: ...

    # What a worker does.

    def actions(self) -> list[Action]:
        """What a process in its phase may do, in the order of the product's worker."""
        if self.phase == "gone":
            return []
        if self.exit_code is not None:
            return [self._is_noticed]
        possible = {
            "starting": [self._begin],
            "opening": [self._serve if self._is_server else self._open_segment],
            "open": [self._step],
            "running": [self._step, self._open_segment, self._finish],
            "closed": [lambda: self._exit(0)] if self._is_alone else [self._say_done],
            "failed": [lambda: self._exit(1)],
        }.get(self.phase, [])
        if self.phase == "running" and self._is_leader:
            possible.append(self._request_replacement)
        return [*self._obedience(), *possible]

    def accidents(self) -> list[Action]:
        if self.exit_code is not None:
            return []
        return [self.kill, self._fail] if self.phase != "failed" else [self.kill]

    def _obedience(self) -> list[Action]:
        kinds = {type(command) for command in self._sent}
        possible: list[Action] = []
        if protocol.Stop in kinds and self.phase in ("running", "waiting"):
            possible.append(self._stop)
        if protocol.Resume in kinds and self.phase == "waiting":
            possible.append(self._resume)
        if protocol.Leave in kinds:
            if self.phase == "waiting":
                possible.append(lambda: self._close("replaced"))
            elif self.phase == "serving":
                possible.append(lambda: self._close("finished"))
            elif self.phase == "done":
                possible.append(lambda: self._exit(0))
        return possible

    @property
    def folder(self) -> WorkerFolder:
        assert self.command is not None
        return worker_folder(Path(self.command.run), self.command.worker, self.command.generation)

    @property
    def _is_alone(self) -> bool:
        return self.command is None or self.command.cluster is None

    @property
    def _is_leader(self) -> bool:
        return self.command is not None and self.command.worker == 0

    @property
    def _is_server(self) -> bool:
        cluster = self.command.cluster if self.command else None
        return bool(cluster) and cluster[0]["role"] == "chief" and not self._is_leader

    def _write(self, **record: Any) -> None:
        self.folder.path.mkdir(exist_ok=True)
        with self.folder.events.open("a") as file:
            file.write(json.dumps(usual(record)) + "\n")

    def _say(self, **message: Any) -> None:
        self._listener(message)

    def _begin(self) -> None:
        self._write(kind="worker_started")
        self.has_begun = True
        self.phase = "opening"

    def _serve(self) -> None:
        self._say(done=True)
        self.phase = "serving"

    def _open_segment(self) -> None:
        self._write(kind="segment", spec={})
        self.phase = "open"

    def _step(self) -> None:
        self._write(kind="step", step=self._num_steps)
        self._num_steps += 1
        self.phase = "running"
        if not self._has_opened:
            self._has_opened = True
            self._say(opened=True)

    def _request_replacement(self) -> None:
        assert self.command is not None
        request = protocol.Replacement(0, self._num_steps, self.command.spec, "checkpoint", 0)
        self._say(replace=asdict(request))
        self.phase = "waiting"

    def _resume(self) -> None:
        self._sent = [c for c in self._sent if not isinstance(c, protocol.Resume)]
        self.phase = "running"

    def _stop(self) -> None:
        if self._is_leader:
            self._write(kind="answer", number=1, command="stop", status="applied")
        self._close("stopped")

    def _finish(self) -> None:
        self._close("finished")

    def _close(self, status: str) -> None:
        was_waiting = self.phase in ("waiting", "serving") and status != "stopped"
        self._write(kind="finished", status=status)
        self.phase = "closed"
        if was_waiting:
            self._exit(0)

    def _say_done(self) -> None:
        self._say(done=True)
        self.phase = "done"

    def _fail(self) -> None:
        """The message comes before the steps that were not written yet, and the record."""
        self._say(failed={"message": "no", "follows": self._num_steps % 2 == 1})
        if self.phase == "running":
            self._write(kind="step", step=self._num_steps)
        self._write(kind="failed", message="no")
        self.phase = "failed"

    def _exit(self, code: int) -> None:
        if self.exit_code is None:
            self.exit_code = code

    def _is_noticed(self) -> None:
        self.phase = "gone"
        self._say(gone=True)


class SimulatedPool(WorkerPool):
    """Gives simulated workers; every third is a spare one."""

    def __init__(self) -> None:
        self.workers: list[SimulatedWorker] = []

    def take(self, namespaces: Sequence[int] = ()) -> tuple[Any, bool]:
        assert not namespaces
        self.workers.append(SimulatedWorker())
        return self.workers[-1], len(self.workers) % 3 == 0

    def refill(self) -> None: ...


class SimulatedHost(Deployment):
    """A host whose clusters need no network: their processes are simulated."""

    def start_group(
        self, start: GroupStart, workers: WorkerPool, inbox: Inbox, numbers: Iterator[int]
    ) -> ProcessGroup:
        count = len(tasks.roles(start.spec))
        if not count:
            return super().start_group(start, workers, inbox, numbers)
        cluster = tasks.cluster_of(start.spec, [f"127.0.0.1:{2222 + n}" for n in range(count)])
        group = ProcessGroup([], cluster)
        for process in range(count):
            command = start.command(next(numbers), process, cluster=cluster.to_json())
            group.workers.append(start_process(ProcessStart(command), workers, inbox))
        return group
