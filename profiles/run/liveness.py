"""Is the process that an event names still there? A pid alone does not tell: pids are reused."""

from __future__ import annotations

import psutil

_SAME_PROCESS_NS = 2_000_000_000
"""Two readings of one process's start time differ by less: it hangs on the clock at boot."""


def process_started_ns(pid: int) -> int | None:
    """Wall-clock start of a process in ns; None if the process does not exist."""
    try:
        return int(psutil.Process(pid).create_time() * 1e9)
    except psutil.Error:
        return None


def is_alive(pid: int, started_ns: int) -> bool:
    """Whether that very process still exists; one that ended and waits to be reaped does not."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return abs(int(process.create_time() * 1e9) - started_ns) < _SAME_PROCESS_NS
    except psutil.Error:
        return False
