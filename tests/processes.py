"""What tests ask about processes, any of which may end while it is asked about."""

from __future__ import annotations

import psutil


def is_living(pid: int) -> bool:
    """Return whether a process runs. A zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def command_of(process: psutil.Process) -> list[str]:
    """Its command line; empty where it has ended."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def children_of(pid: int | None = None, *, command: str = "") -> list[psutil.Process]:
    """Living children of a process (None: this one) whose command has this."""
    running = psutil.Process(pid).children()
    return [c for c in running if is_living(c.pid) and command in " ".join(command_of(c))]


def all_below(pid: int | None = None) -> list[psutil.Process]:
    """Living children of a process (None: this one), their own, and so on."""
    return [c for c in psutil.Process(pid).children(recursive=True) if is_living(c.pid)]
