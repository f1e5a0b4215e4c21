"""A worker and all that it starts, wherever that goes: told by a mark in the environment.

Children inherit the environment, through new sessions and after their parent's death, where no
process group and no parent tells any more whose they were.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping

import psutil

VARIABLE = "STRATEGY_LAB_FAMILY"
_MOST_SWEEPS = 20


def new_mark() -> str:
    """A mark that no other process has."""
    return uuid.uuid4().hex


def without_mark(environment: Mapping[str, str]) -> dict[str, str]:
    """For a process that ends by itself, and may finish what it does first."""
    return {name: value for name, value in environment.items() if name != VARIABLE}


def members(mark: str) -> Iterator[psutil.Process]:
    """The processes of a family that live, whoever asks left out."""
    own = psutil.Process().pid
    for process in psutil.process_iter():
        try:
            is_one = process.environ().get(VARIABLE, "").startswith(mark)
            if is_one and process.pid != own and process.status() != psutil.STATUS_ZOMBIE:
                yield process
        except (psutil.Error, OSError):
            continue  # gone meanwhile, or somebody else's


def end_descendants(mark: str) -> None:
    """Kill every member; again for as long as one that was being started turns up."""
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
