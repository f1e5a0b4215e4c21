"""Ends a worker when its launcher ends, however that happens.

Three mechanisms together, because each fails alone:

- PR_SET_PDEATHSIG (Linux) has the kernel kill this process when its parent ends. "Parent" is the
  thread that forked, not its process (prctl(2)), so a launcher starts all workers from one thread
  that lives as long as it does.
- The parent may end between the fork and that request. No signal comes then. The parent's id is
  therefore compared after the request: an orphan has another parent.
- The end of stdin works on every system, but only once no process holds the write end of the pipe:
  a child that the launcher's process forked without `exec` has a copy.

Things that don't work: an `atexit` handler of the launcher (not run on SIGKILL); a heartbeat (a
launcher that is stopped or swapped out would lose its workers). Processes that a worker has started
are ended by its reaper (`reaper`), or by `orphan_cleanup`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

_PR_SET_PDEATHSIG = 1


def tie_to(parent: int) -> None:
    """End with process `parent`. Call this before anything else: imports take seconds."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    # In this order: compared before the request, a parent could end unseen between the two.
    if os.getppid() != parent:
        end_at_once()


def end_at_once() -> NoReturn:
    """End this process and its process group by SIGKILL."""
    # Otherwise the group is that of the program that started this process.
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable: SIGKILL cannot be survived")


def take_protocol() -> TextIO:
    """Move the launcher's pipe to another descriptor; what prints to stdout goes to stderr."""
    # `dup` makes a descriptor that `exec` closes: programs that user code starts do not hold the
    # pipe open. A child that is forked without `exec` does (see `WorkerProcess`).
    pipe = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(pipe, "w", encoding="utf-8", buffering=1)


def take_stdin() -> BinaryIO:
    """Move the launcher's commands to another descriptor; user code reads an empty stdin."""
    commands = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(commands, "rb")


def print_into(folder: Path) -> None:
    """Redirect everything that Python or C++ prints to the worker's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    # `dup2` on the numbers: C++ and child processes write to 1 and 2, not to `sys.stderr`.
    # O_APPEND: several processes write to one file and must not overwrite each other.
    for number, name in ((1, "stdout.log"), (2, "stderr.log")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, number)
        os.close(file)
