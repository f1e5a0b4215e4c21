"""The handle of a launched run: what the page and the command line hold of it.

One thread per run does everything (`RunControl`). The methods only leave a message for it and
return at once, so that no request of the page waits for a process to start or to end.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strategy_core.launcher.deployment import Deployment
from strategy_core.launcher.inbox import Inbox, KillProcess, KillRun, Request
from strategy_core.launcher.run_control import RunControl
from strategy_core.launcher.run_state import RunState
from strategy_core.launcher.worker_pool import WorkerPool
from strategy_core.processes import protocol
from strategy_core.processes.exit_reason import ExitReason
from strategy_profiles.run.status import State
from strategy_profiles.spec.run_spec import RunSpec

POLL_S = 0.1
STOP_GRACE_S = 20.0
"""Limit from Stop to a worker's end: a step, and the conversion of the last capture."""
_STATUSES: dict[str, State] = {"finished": "finished", "stopped": "stopped"}


class RunHandle:
    """A launched run. Methods may be called from any thread and return at once, except `wait`."""

    def __init__(
        self,
        spec: RunSpec,
        folder: Path,
        workers: WorkerPool,
        deployment: Deployment,
        stop_grace_s: float = STOP_GRACE_S,
        checkpoint: Path | None = None,
    ) -> None:
        self.spec = spec
        self.folder = folder
        self._workers = workers
        self._inbox: Inbox = queue.Queue()
        self._over = threading.Event()
        try:
            self._control = RunControl(
                spec, folder, workers, self._inbox, deployment, stop_grace_s, checkpoint
            )
        except BaseException:
            deployment.close()
            raise
        threading.Thread(target=self._drive, name=f"run {folder.name}", daemon=True).start()

    @property
    def state(self) -> RunState:
        """What the launcher does about the run."""
        return self._control.machine.state

    @property
    def exit_reason(self) -> ExitReason | None:
        """Why it ended; None while it runs."""
        return self._control.exit_reason

    @property
    def is_over(self) -> bool:
        """Whether the run has ended and its exit reason is known."""
        return self.exit_reason is not None

    @property
    def status(self) -> State:
        """`running`, then `finished`, `stopped` or `failed`."""
        reason = self.exit_reason
        return "running" if reason is None else _STATUSES.get(reason.verdict, "failed")

    @property
    def message(self) -> str | None:
        """Why it ended, as a sentence."""
        return self.exit_reason.message if self.exit_reason else None

    @property
    def exit_code(self) -> int | None:
        """Exit code of the worker that caused the end of the run; None while it runs."""
        return self._control.exit_code

    @property
    def failure_detail(self) -> str:
        """The traceback or the last output of that worker; empty if the run did not fail."""
        return self._control.failure_detail

    @property
    def step(self) -> int | None:
        """The last step known to be done."""
        return self._control.group.leader.step

    @property
    def pids(self) -> tuple[int, ...]:
        """Processes that work for this run now."""
        return tuple(pid for group in self._control.groups for pid in group.pids)

    def reconfigure(self, changes: Mapping[str, Any]) -> int:
        """Request a change at the next step; the `answer` event with this number has its result."""
        return self.send(protocol.Reconfigure(next(self._control.numbers), dict(changes)))

    def stop(self, why: str | None = None) -> int:
        """Request the end at the next step; after the grace time the workers are killed.

        With `why`, for the run's record, a run that has no step to lose ends at once.
        """
        return self.send(protocol.Stop(next(self._control.numbers), why))

    def send(self, command: protocol.Command) -> int:
        """Send a command; returns its number."""
        self._request(command)
        return command.number

    def kill(self) -> None:
        """End it by force, now."""
        self._request(KillRun())

    def kill_process(self, number: int) -> None:
        """Kill one process of a cluster, to see what the others do."""
        self._request(KillProcess(number))

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end of the run; returns whether it has ended."""
        return self._over.wait(timeout_s)

    def _request(self, request: Request) -> None:
        self._inbox.put((None, request))

    def _drive(self) -> None:
        """The run's thread."""
        control = self._control
        try:
            while control.exit_reason is None:
                with contextlib.suppress(queue.Empty):
                    sender, message = self._inbox.get(timeout=POLL_S)
                    control.take(sender, message, time.monotonic())
                control.check(time.monotonic())
        except Exception as error:
            control.exit_reason = ExitReason("failed", f"The launcher lost this run: {error!r}")
            raise
        finally:
            control.close()
            self._over.set()
            self._workers.refill()
