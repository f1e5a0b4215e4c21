"""Folders of recordings: each belongs to a living process, or is removed by the next one.

A folder's owners hold a shared lock on its file `owner`, which the kernel releases when they end,
however they end. Process numbers would not do: another container that shares the folder of
temporary files has others.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

from strategy_core.processes import descendants

PREFIX = "strategy-lab-contexts-"
OWNER = "owner"
EXPORT_PREFIX = "strategy-lab-export-"
"""Of `profiles.exports`, which deletes its folders itself unless it is killed."""
_YOUNG_S = 60.0
"""A folder whose owner has not locked it yet is younger."""
_LONGEST_EXPORT_S = 3600.0


def make(mark: str) -> tuple[Path, int]:
    """A new folder and its lock; the processes that use it carry `mark` (see `family`)."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / OWNER).write_text(mark)
    return folder, own(folder)


def own(folder: Path) -> int:
    """Become one of the owners of a folder: the descriptor that keeps it."""
    lock = os.open(folder / OWNER, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def remove_abandoned(parent: Path | None = None, *, now: float | None = None) -> list[Path]:
    """Remove the folders of recordings whose owners are gone, and end what still runs for them."""
    removed = []
    parent = parent or Path(tempfile.gettempdir())
    now = time.time() if now is None else now
    for folder in (*parent.glob(f"{PREFIX}*"), *parent.glob(f"{EXPORT_PREFIX}*")):
        with contextlib.suppress(OSError):
            if _is_abandoned(folder, now):
                _end_processes(folder)
                shutil.rmtree(folder, ignore_errors=True)
                removed.append(folder)
    return removed


def _is_abandoned(folder: Path, now: float) -> bool:
    stat = folder.lstat()
    age_s = now - stat.st_mtime
    if folder.is_symlink() or stat.st_uid != os.getuid() or age_s < _YOUNG_S:
        return False
    if folder.name.startswith(EXPORT_PREFIX):
        return age_s > _LONGEST_EXPORT_S
    try:
        lock = os.open(folder / OWNER, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(lock)
    return True


def _end_processes(folder: Path) -> None:
    """Of a page and its guard that were both killed; usually nothing is left to end."""
    with contextlib.suppress(OSError):
        mark = (folder / OWNER).read_text(errors="replace").strip()
        if len(mark) == len(descendants.new_mark()):  # a shorter one might begin those of others
            descendants.end_descendants(mark)
