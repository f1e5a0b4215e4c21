"""Who hangs, of several: the one that the others wait for.

When one gives no sign of life, soon none does. So all are asked where they are (`whereabouts`):
those who wait inside their step wait for a peer. Nobody hangs who waits for one that still builds
its first step, or imports TensorFlow, and is seen to be at it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_core.processes import stack_probe
from strategy_core.processes.stack_probe import StackSample

ANSWER_S = 5.0
"""So long may a process take to answer: on an idle machine it does at once."""


class HangDiagnosis:
    """Everyone is asked; driven by one thread, which passes the time in."""

    def __init__(self, members: Sequence[WorkerMonitor], now: float) -> None:
        self._asked_at = now
        self._logs: dict[int, tuple[Path, int]] = {}
        for member in members:
            # Nothing answers the signal before: it would kill.
            if member.process.ready and member.has_begun and member.stopped_since is None:
                log = member.folder.path / "stderr.log"
                self._logs[member.folder.worker] = log, _size(log)
                stack_probe.ask(member.process.pid)

    def is_over(self, now: float) -> bool:
        """Whether all have answered that can, or had the time to."""
        said = (_said_since(*log) for log in self._logs.values())
        return now > self._asked_at + ANSWER_S or all(map(stack_probe.is_whole, said))

    def culprit(
        self,
        alive: Sequence[WorkerMonitor],
        hung: Mapping[int, str],
        now: float,
        *,
        is_served: bool,
    ) -> tuple[WorkerMonitor, str] | None:
        """Who hangs, and why; None where all wait for one that is at work.

        Args:
          alive: whoever is there.
          hung: why each is taken for hung that gives no sign of life, by process number.
          is_served: one of them trains and the others do what it sends them: only its own
            silence, or a server's own, says something.
        """
        at_work = [m for m in alive if m.is_building and m.folder.worker not in hung]
        if is_served and at_work:
            return None
        suspects = [m for m in alive if m.folder.worker in hung or not is_served]
        found = min(suspects, key=lambda m: (*self._stuck(m), m not in at_work, m.last_sign))
        if found in at_work:
            return None
        why = hung.get(found.folder.worker) or f"No step for {now - found.last_sign:.0f} s."
        place = self._place(found)
        is_told = place is not None and found.stopped_since is None
        return found, f"{why[:-1]}; {place}." if is_told else why

    def is_waiting(self, member: WorkerMonitor) -> bool:
        """Whether a worker whose peers are on other hosts said that it may be waiting for them."""
        place = self._place(member)
        is_heard = member.stopped_since is None
        return is_heard and place is not None and place.may_wait_for_others

    def _stuck(self, member: WorkerMonitor) -> tuple[bool, bool, int]:
        """The least of several is the one that the others wait for."""
        place = self._place(member)
        is_waiting = place is not None and place.is_waiting_for_peers
        return (
            member.stopped_since is None,
            is_waiting,
            -1 if member.step is None else member.step,
        )

    def _place(self, member: WorkerMonitor) -> StackSample | None:
        """Where it said it was."""
        log = self._logs.get(member.folder.worker)
        return stack_probe.read(_said_since(*log)) if log else None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _said_since(log: Path, start: int) -> str:
    try:
        with log.open("rb") as file:
            file.seek(start)
            return file.read().decode(errors="replace")
    except OSError:
        return ""
