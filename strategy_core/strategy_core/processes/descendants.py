"""Finds what a worker has started or left behind, by a mark in the environment of processes.

Children inherit the environment. It survives a new session (`setsid`) and the death of the parent,
after which neither the process group nor the parent's id leads to the worker. A child that is
started with another environment is not found; on Linux the worker's reaper ends such a child.

Temporary files of a worker have the mark in their names. A process id in its place would not do:
ids are used again, and another container that shares the temporary folder has other ones.
"""

from __future__ import annotations

import contextlib
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil

VARIABLE = "STRATEGY_LAB_DESCENDANTS"
_MOST_SWEEPS = 20


def new_mark() -> str:
    """A mark that no other launcher uses."""
    return uuid.uuid4().hex


def without_mark(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that is not to be killed with the marked ones."""
    return {name: value for name, value in environment.items() if name != VARIABLE}


def members(mark: str) -> Iterator[psutil.Process]:
    """The living processes with a mark that begins like this, without the caller."""
    own = psutil.Process().pid
    for process in psutil.process_iter():
        try:
            is_one = process.environ().get(VARIABLE, "").startswith(mark)
            if is_one and process.pid != own and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.Error, OSError):
            continue  # ended meanwhile, or another user's


def end_descendants(mark: str) -> None:
    """Kill all processes with the mark; again while processes that were being forked appear."""
    for _ in range(_MOST_SWEEPS):
        living = list(members(mark))
        if not living:
            return
        for process in living:
            try:
                process.kill()
            except psutil.Error:
                continue
        psutil.wait_procs(living, timeout=0.2)


def remove_marked_files(mark: str) -> None:
    """Remove the files with the mark in the temporary folder, and their bytecode.

    A worker that was killed could not do it.
    """
    folder = Path(tempfile.gettempdir())
    for parent in (folder, folder / "__pycache__"):
        for file in parent.glob(f"*{mark}*"):
            with contextlib.suppress(OSError):
                file.unlink()
