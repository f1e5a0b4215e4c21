"""Is the process that an event names still there? A pid alone does not tell: pids are reused."""

from __future__ import annotations

import psutil

_SAME_PROCESS_NS = 2_000_000_000
"""Readings of one process's start time differ by less than this. They can differ because the kernel
counts from boot, and the wall-clock time of boot changes when the clock is adjusted."""


def process_started_ns(pid: int) -> int | None:
    """Return the wall-clock start time of a process in ns, or None if it does not exist."""
    try:
        return int(psutil.Process(pid).create_time() * 1e9)
    except psutil.Error:
        return None


def is_alive(pid: int, started_ns: int) -> bool:
    """Return whether the process with this pid and start time exists; a zombie does not count."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(int(process.create_time() * 1e9) - started_ns) < _SAME_PROCESS_NS
    except psutil.Error:
        return False
