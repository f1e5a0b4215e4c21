"""Whether a worker process computes, waits or was stopped, sampled once a second."""

from __future__ import annotations

from dataclasses import dataclass

from strategy_core.processes.worker_process import WorkerProcess

_SAMPLE_EVERY_S = 1.0
_BUSY_SHARE = 0.1
"""From this share of one core on, a process counts as computing."""


@dataclass
class ProcessActivity:
    """What the operating system reports about a process. Driven by one thread."""

    process: WorkerProcess
    sampled_at: float
    """Monotonic seconds of the last sample."""
    stopped_since: float | None = None
    """Monotonic seconds since when it has been stopped (SIGSTOP)."""
    _cpu_s: float = 0.0

    def sample(self, now: float) -> bool:
        """Sample it if that is due; returns whether it has computed since the last sample."""
        elapsed_s = now - self.sampled_at
        if elapsed_s < _SAMPLE_EVERY_S:
            return False
        cpu_s = self.process.cpu_seconds()
        is_busy = cpu_s - self._cpu_s > _BUSY_SHARE * elapsed_s
        self._cpu_s, self.sampled_at = cpu_s, now
        self.process.sample_memory()
        is_stopped = not is_busy and self.process.state() == "stopped"
        self.stopped_since = (self.stopped_since or now) if is_stopped else None
        return is_busy

    def __str__(self) -> str:
        state = self.process.state()
        return {
            "stopped": "its process was stopped (SIGSTOP)",
            "disk-sleep": "its process waits for the disk",
            "running": "its process is computing",
            "sleeping": "its process is waiting",
        }.get(state, f"its process is {state}")
