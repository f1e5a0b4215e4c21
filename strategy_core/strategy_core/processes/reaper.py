"""The parent of one worker (Linux): ends after it, and ends every process that it started.

    python -I -S reaper.py LAUNCHER_PID STATUS_FD NAME=VALUE COMMAND...

Runs COMMAND as a session of its own with `--parent` and this process's id appended, and with NAME
in its environment. Writes the worker's process id to STATUS_FD, waits, and ends as the worker did:
with its exit code, or by its signal. Before that it kills every descendant of the worker.

A launcher that closes kills its workers. If it was killed itself, a worker that has steps to lose
has a while to save them (`command_reader`) before this process kills it.

A user's code can start processes that no property known to the launcher identifies. What does not
work:

- the process group and the session: `setsid` leaves both;
- the parent: an orphan goes to the init process, whose children are not ours to kill;
- a mark in the environment: `subprocess.Popen(..., env={})` drops it;
- the end of a pipe: `os.fork` without `exec` copies every descriptor, so a pipe that the worker
  wrote to stays open when the worker has ended. A launcher that waits for the end of that pipe
  waits for the child.

A child subreaper (`prctl(2)`, PR_SET_CHILD_SUBREAPER) needs no privilege: an orphan goes to its
nearest ancestor of that kind, so every descendant stays in the tree below this process. The
launcher cannot be the subreaper: when it is killed, its orphans go to the init process, and while
it lives it cannot tell which worker an orphan is of. The worker cannot be it either, because its
death is the moment in question. A control group (cgroup v2) would do, but few users may write to
theirs.

Only the standard library, and no package of the lab: it starts in milliseconds. A fork server has
it imported, and forks it (`fork_server`).
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LAUNCHER_ENDED = signal.SIGUSR2
_AWAITED = (signal.SIGCHLD, signal.SIGTERM, _LAUNCHER_ENDED)
_ORPHAN_S = 25.0
"""Limit for a worker whose launcher was killed: `timeouts.ORPHAN_S`, after which it ends itself,
and some more."""
_LOOK_EVERY_S = 3600.0
_ENDED = (b"Z", b"X")
_EXITING = 0x4
"""PF_EXITING of the kernel."""
_DYING_S = 2.0
"""The threads of a killed process end one after the other: its own end is awaited for so long."""
_SWEEP_S = 10.0
"""Limit: a process in an uninterruptible wait (a disk) cannot be killed; it is left then."""


def main() -> NoReturn:
    launcher, status_fd, variable, *command = sys.argv[1:]
    name, _, value = variable.partition("=")

    def execute(reaper: int) -> NoReturn:
        environment = os.environ | {name: value}
        os.execve(command[0], [*command, "--parent", str(reaper)], environment)

    _end_like(supervise(int(launcher), int(status_fd), execute))


def supervise(
    parent: int,
    status_fd: int,
    become_worker: Callable[[int], None],
    keep_fd: int | None = None,
    launcher: int | None = None,
) -> int:
    """Start the worker, wait for its end or the parent's, and end its descendants.

    Signals are blocked first: one that came before `_wait_for` would end this process alone.

    Args:
      parent: process id of the parent; this process ends with it.
      status_fd: where the worker writes its process id.
      become_worker: called with this process's id in the worker's process; does not return.
      keep_fd: a descriptor that stays open here, above all others.
      launcher: process id of the launcher, if the parent is a fork server.

    Returns:
      The worker's status as `waitpid` has it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _AWAITED)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    adopt_orphans()
    _prctl(_PR_SET_PDEATHSIG, _LAUNCHER_ENDED)
    if os.getppid() != parent:
        os._exit(1)  # it ended before PR_SET_PDEATHSIG took effect
    worker = _start(status_fd, become_worker)
    _close_descriptors(keep_fd)
    status = _wait_for(worker, launcher or parent)
    end_descendants()
    return status


def _start(status_fd: int, become_worker: Callable[[int], None]) -> int:
    """Fork the worker; returns its process id.

    The worker writes its id to `status_fd` itself, just before it begins: if it does not come that
    far, the launcher reads an end of file and no id.
    """
    reaper = os.getpid()
    worker = os.fork()
    if worker:
        return worker
    try:
        os.setsid()  # `WorkerProcess.kill` signals this group; the reaper must not be in it
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != reaper:
            os._exit(1)  # the reaper ended before PR_SET_PDEATHSIG took effect
        # `execve` keeps ignored signals ignored and blocked ones blocked. Python installs its
        # handler of SIGINT only if that is not ignored.
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _AWAITED)
        os.set_inheritable(status_fd, False)
        os.write(status_fd, b"%d\n" % os.getpid())
        become_worker(reaper)
    finally:  # never return: this is a copy of the reaper, which would go on as a second one
        os._exit(127)


def _close_descriptors(kept: int | None) -> None:
    """Close this copy of the worker's descriptors, so that its pipes end with the worker."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
        if int(name) > 2 and int(name) != kept:
            with contextlib.suppress(OSError):  # that of the listing itself
                os.close(int(name))


def _wait_for(worker: int, launcher: int) -> int:
    """The worker's status as `waitpid` has it, once it has ended."""
    killed_at = math.inf
    while True:
        # Signals of one kind that are pending merge into one: a single SIGCHLD may announce many
        # children, so `reap` reaps all that have ended, orphans included.
        left_s = min(killed_at - time.monotonic(), _LOOK_EVERY_S)
        came = signal.sigtimedwait(_AWAITED, max(left_s, 0.0))
        number = came.si_signo if came else None
        if number == signal.SIGTERM:
            os.kill(worker, signal.SIGTERM)
        elif number == _LAUNCHER_ENDED:
            killed_at = time.monotonic() + (_ORPHAN_S if _was_killed(launcher) else 0.0)
        if time.monotonic() >= killed_at:
            os.kill(worker, signal.SIGKILL)
            killed_at = math.inf
        status = reap(worker)
        if status is not None:
            return status


def _was_killed(launcher: int) -> bool:
    """Whether the launcher has ended. If it lives, it has ended the thread or process that started
    this one."""
    deadline = time.monotonic() + _DYING_S
    while _lives(launcher):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _lives(pid: int) -> bool:
    try:
        state, *fields = _stat(Path("/proc", str(pid)))
    except (OSError, ValueError):
        return False
    return state not in _ENDED and not int(fields[6]) & _EXITING


def reap(worker: int = 0) -> int | None:
    """Reap every child that has ended; returns the worker's status if it is one of them."""
    ended = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            ended = status if pid == worker else ended
    return ended


def end_descendants() -> None:
    """Kill every process below this one.

    The kernel ends a process group at once, those that are being forked included, so whole groups
    come first. What has moved to other groups is stopped before it is killed: of a fork bomb that
    is killed one by one, each makes room for another. Processes that fork and leave their group
    faster than they are found are ended only if something bounds their number (RLIMIT_NPROC, a pids
    cgroup).
    """
    deadline = time.monotonic() + _SWEEP_S
    while time.monotonic() < deadline:
        groups = set(filter(None, map(_group_of, descendants()))) - {os.getpgrp()}
        _send(signal.SIGKILL, {-group for group in groups})
        stopped: set[int] = set()
        while (new := set(descendants()) - stopped) and time.monotonic() < deadline:
            _send(signal.SIGSTOP, new)
            stopped |= new
        reap()
        if not stopped:
            return
        _send(signal.SIGKILL, stopped)  # SIGKILL ends a stopped process, too
        time.sleep(0.002)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def descendants() -> Iterator[int]:
    """Every process below this one that has not ended."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            state, parent, *_ = _stat(entry)
        except (OSError, ValueError):
            continue
        if state not in _ENDED:
            children.setdefault(int(parent), []).append(int(entry.name))
    below = children.get(os.getpid(), [])
    while below:
        yield from below
        below = [child for pid in below for child in children.get(pid, [])]


def _stat(process: Path) -> list[bytes]:
    """The fields of a process from its state on; the name before it may have any characters."""
    return (process / "stat").read_bytes().rpartition(b")")[2].split()


def _send(number: int, pids: set[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _end_like(status: int) -> NoReturn:
    """End as the worker did; a signal of its own leaves no second core file."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
        os._exit(128 + number)
    os._exit(os.waitstatus_to_exitcode(status))


def adopt_orphans() -> None:
    """Have orphans of this process's descendants become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value)


if __name__ == "__main__":
    main()
