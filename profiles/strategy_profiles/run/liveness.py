"""Is the process that an event names still there? A pid alone does not tell: pids are reused."""

from __future__ import annotations

import time
from pathlib import Path

_SAME_PROCESS_NS = 2_000_000_000
"""Readings of one process's start time differ by less than this while no clock is set."""


def process_started_ns(pid: int) -> int | None:
    """Return the wall-clock start time of a process in ns, or None if it does not exist."""
    import psutil  # as below: who reads a run that has ended has no process to look at

    try:
        return int(psutil.Process(pid).create_time() * 1e9)
    except psutil.Error:
        return None


def clock_ahead_ns() -> int:
    """Return how far the wall clock is ahead of the monotonic clock."""
    return time.time_ns() - time.monotonic_ns()


def boot_id() -> str | None:
    """Return what identifies the running kernel; None if unknown.

    Processes with equal values share a clock.
    """
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip() or None
    except OSError:
        return None


def set_since_ns(ahead_ns: int | None) -> tuple[int, ...]:
    """Return by how much the wall clock may have been set since it was `ahead_ns` ahead.

    Linux counts a process's start from boot, and moves the wall-clock time of boot, and with it
    that of all starts, when the clock is set. Two answers are possible: the monotonic clock also
    stops while the machine is suspended, which moves no start.
    """
    return (0,) if ahead_ns is None else (0, clock_ahead_ns() - ahead_ns)


def is_alive(pid: int, started_ns: int, ahead_ns: int | None = None) -> bool:
    """Return whether the process with this pid and start time exists; a zombie does not count.

    `ahead_ns` is what `clock_ahead_ns` was when `started_ns` was read.
    """
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        later_ns = int(process.create_time() * 1e9) - started_ns
    except psutil.Error:
        return False
    return any(abs(later_ns - set_ns) < _SAME_PROCESS_NS for set_ns in set_since_ns(ahead_ns))
