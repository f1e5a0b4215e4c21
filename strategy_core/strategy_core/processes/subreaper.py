"""Ends all processes below this one, including those that try to leave it.

A process whose parent ends is handed to its nearest ancestor that asked for orphans
(PR_SET_CHILD_SUBREAPER), else to init. With that, the tree below a process is complete: a new
session (`setsid`), a double fork and an emptied environment change nothing about who is whose
ancestor. Linux only.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time

import psutil

_PR_SET_CHILD_SUBREAPER = 36
_ENDING_S = 10.0


def adopt_orphans() -> None:
    """Have orphans of this process's descendants become its children."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> list[psutil.Process]:
    """Return the living descendants of this process, in any session."""
    processes = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                processes.append(process)
    return processes


def reap(pid: int) -> int | None:
    """Reap all ended children; returns the exit code of child `pid`, None while it lives.

    The code is negative for a signal, as `subprocess` has it.
    """
    code = None
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == pid:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def end_descendants(timeout_s: float = _ENDING_S) -> bool:
    """Kill every process below this one; returns whether none is left.

    The kernel ends a process group at once, those that are being forked included, so whole groups
    come first. What has moved to other groups is stopped before it is killed: of a fork bomb that
    is killed one by one, each makes room for another. Processes that fork and leave their group
    faster than they are found are ended only if something bounds their number (RLIMIT_NPROC, a pids
    cgroup).
    """
    deadline = time.monotonic() + timeout_s
    while living := psutil.Process().children(recursive=True):
        for group in {_group_of(process) for process in living}:
            if group is not None and group != os.getpgrp():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
        _stop_all(deadline)
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                process.kill()
        reap(0)
        if time.monotonic() > deadline:
            return False
    return True


def _stop_all(deadline: float) -> None:
    """Stop every process below this one, until no running one is found."""
    stopped: set[int] = set()
    while time.monotonic() < deadline:
        left = {process.pid for process in descendants()} - stopped
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        stopped |= left


def _group_of(process: psutil.Process) -> int | None:
    try:
        return os.getpgid(process.pid)
    except ProcessLookupError:
        return None
