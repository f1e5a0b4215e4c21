"""Finds which process of several hangs: the one that the others wait for.

When one process gives no sign of life, soon none does. The launcher therefore asks each for its
stack (`stack_probe`): those that wait inside their step wait for a peer. A process that waits for a
peer does not hang while that peer builds its first step or imports TensorFlow, and makes progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.launcher.worker_state import WorkerState
from strategy_core.processes import stack_probe
from strategy_core.processes.stack_probe import StackSample
from strategy_profiles.guards import open_file

ANSWER_S = 5.0
"""Limit for the stacks to arrive; on an idle machine they arrive at once."""


class HangDiagnosis:
    """One request for all stacks. Driven by one thread, which passes the time in."""

    def __init__(self, workers: Sequence[WorkerMonitor], now: float) -> None:
        self._asked_at = now
        self._logs: dict[int, tuple[Path, int]] = {}
        for worker in workers:
            # Before a worker has installed its handler, SIGUSR1 would end it. While it is stopped
            # (SIGSTOP), it cannot answer.
            has_handler = worker.process.ready and worker.state is not WorkerState.STARTING
            if has_handler and worker.activity.stopped_since is None:
                log = worker.folder.path / "stderr.log"
                self._logs[worker.folder.worker] = log, _size(log)
                stack_probe.request_stacks(worker.process.pid)

    def is_over(self, now: float) -> bool:
        """Whether all stacks have arrived, or `ANSWER_S` have passed."""
        printed = (_text_after(*log) for log in self._logs.values())
        return now > self._asked_at + ANSWER_S or all(map(stack_probe.is_whole, printed))

    def find_hung(
        self,
        alive: Sequence[WorkerMonitor],
        hung: Mapping[int, str],
        now: float,
        *,
        has_coordinator: bool,
    ) -> tuple[WorkerMonitor, str] | None:
        """Return the process that hangs, and why; None if all wait for one that makes progress.

        Args:
          alive: the processes of the group that have not ended.
          hung: why each process that gives no sign of life counts as hung, by process number.
          has_coordinator: whether the first process runs the steps and sends the others their
            work. Then only its own silence, or a server's own, is evidence.
        """
        at_work = [w for w in alive if w.is_opening and w.folder.worker not in hung]
        if has_coordinator and at_work:
            return None
        suspects = [w for w in alive if w.folder.worker in hung or not has_coordinator]
        stuck = min(suspects, key=lambda w: (*self._rank(w), w not in at_work, w.last_sign))
        if stuck in at_work:
            return None
        why = hung.get(stuck.folder.worker) or f"No step for {now - stuck.last_sign:.0f} s."
        stack = self._stack(stuck)
        return stuck, why if stack is None else f"{why[:-1]}; {stack}."

    def may_wait_for_peers(self, worker: WorkerMonitor) -> bool:
        """Whether the stack of a worker allows that it waits for peers on other hosts."""
        stack = self._stack(worker)
        return stack is not None and stack.may_wait_for_others

    def _rank(self, worker: WorkerMonitor) -> tuple[bool, bool, int]:
        """Sort key by which the process that the others wait for comes first."""
        stack = self._stack(worker)
        return (
            worker.activity.stopped_since is None,
            stack is not None and stack.is_waiting_for_peers,
            -1 if worker.step is None else worker.step,
        )

    def _stack(self, worker: WorkerMonitor) -> StackSample | None:
        """Return the stack that the process printed; None if it printed none or is stopped."""
        log = self._logs.get(worker.folder.worker)
        if log is None or worker.activity.stopped_since is not None:
            return None
        return stack_probe.read(_text_after(*log))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _text_after(log: Path, num_bytes: int) -> str:
    try:
        with open_file(log) as file:
            file.seek(num_bytes)
            return file.read().decode(errors="replace")
    except OSError:
        return ""
