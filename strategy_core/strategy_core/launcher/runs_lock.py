"""One run at a time in a folder of runs, whichever processes start them.

The process that trains holds a lock on a file in the folder, which the kernel releases when that
process ends, however it ends. The file says who holds it, for the others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import BinaryIO

import msgspec
import psutil

from strategy_core.processes.running_labs import page_of_process
from strategy_profiles.decoders import decoder_of
from strategy_profiles.errors import LabError
from strategy_profiles.guards import open_file
from strategy_profiles.spec.field_types import Name, Pid
from strategy_profiles.user_input.text import quoted

LOCK_FILE = ".training"
_MOST_BYTES = 1 << 12


class Holder(msgspec.Struct, frozen=True):
    """Who trains in a folder of runs."""

    pid: Pid
    run: Name
    """Name of the run's folder."""


_HOLDER = decoder_of(Holder)


def take(folder: Path) -> contextlib.ExitStack:
    """Return the right to train in the folder beside `folder`, a run's; close it to give it back.

    Raises LabError, with who has it, if another launcher does. On a disk without locks, or where
    this user may not write beside the run, no process is kept out.
    """
    held = contextlib.ExitStack()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(folder.parent / LOCK_FILE, flags, 0o644)
        file = held.enter_context(os.fdopen(descriptor, "r+b", buffering=0))
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        file.truncate()
        file.write(msgspec.json.encode(Holder(os.getpid(), folder.name)))
        held.callback(_clear, file)
    except BlockingIOError:
        with held:
            raise LabError(
                f"{_holder_text(_holder(file))} trains in {folder.parent} now, and two runs at a "
                "time would change each other's times",
                advice="Stop that run, or wait for its end",
            ) from None
    except (OSError, ValueError):
        pass
    return held


def trains_in(runs: Path) -> str | None:
    """Return which run is trained in a folder, and by whom; None if none is.

    A look, to say it before a run is asked for: `take` decides.
    """
    try:
        with open_file(runs / LOCK_FILE) as file:
            holder = _holder(file)
    except OSError:
        return None
    return _holder_text(holder) if holder is not None and psutil.pid_exists(holder.pid) else None


def _clear(file: BinaryIO) -> None:
    with contextlib.suppress(OSError):
        file.truncate(0)


def _holder(file: BinaryIO) -> Holder | None:
    try:
        return _HOLDER.decode(file.read(_MOST_BYTES))
    except (OSError, ValueError):  # no process, or one that has only just taken the lock
        return None


def _holder_text(holder: Holder | None) -> str:
    if holder is None:
        return "Another process"
    page = page_of_process(holder.pid)
    where = f"the lab at {page}, " if page else ""
    return f"Run {quoted(holder.run)} ({where}process {holder.pid})"
