"""The worker's end of the tie to its launcher: a worker never outlives it.

Three knots, because each one alone can slip. The kernel kills the worker when the launching thread
dies (Linux). The start of the worker races with that request, so the parent is compared
afterwards. And wherever it runs, the end of stdin means that the launcher is gone. What a worker
had started is ended by the launcher's keeper (`keeper`).
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
    """Die with process `parent`. Call first thing: imports take seconds."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        end_at_once()


def end_at_once() -> NoReturn:
    """End this process and what it started, without any cleaning up."""
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable: SIGKILL cannot be survived")


def take_protocol() -> TextIO:
    """The launcher's pipe under a number of its own; what prints to stdout goes to stderr."""
    pipe = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(pipe, "w", encoding="utf-8", buffering=1)


def take_stdin() -> BinaryIO:
    """The launcher's commands under a number of their own; user code that reads finds nothing."""
    commands = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return os.fdopen(commands, "rb")


def print_into(folder: Path) -> None:
    """From here on everything printed, by Python or by C++, lies in the worker's folder."""
    folder.mkdir(parents=True, exist_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    for number, name in ((1, "stdout.log"), (2, "stderr.log")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, number)
        os.close(file)
