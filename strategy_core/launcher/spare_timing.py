"""When the launcher starts the next spare worker, whose imports use a core for seconds.

It used to start at the first step. At that time the graph, the first capture and its conversion use
the same core: on a busy machine they took several times as long beside an import.
"""

from __future__ import annotations

from strategy_core.launcher.worker_monitor import WorkerMonitor

WITHOUT_CAPTURE_S = 10.0
"""Delay of the spare worker after a run's first step if there is no capture."""


class SpareTiming:
    """Decides when to start the next spare worker. Used by one thread, which passes the time."""

    def __init__(self) -> None:
        self._first_step_at: float | None = None
        self._is_over = False

    def is_due(self, leader: WorkerMonitor, now: float) -> bool:
        """Return whether to start the spare worker now. Returns True once per run."""
        if self._is_over or leader.step is None:
            return False
        if self._first_step_at is None:
            self._first_step_at = now
        self._is_over = leader.has_capture or now - self._first_step_at > WITHOUT_CAPTURE_S
        return self._is_over
