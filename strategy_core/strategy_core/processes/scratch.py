"""Folders of recordings; those of dead processes are removed later, and what else they left.

Each owner of a folder holds a shared lock on its file `owner`, and that of a temporary file one on
the file, which the kernel releases when the process ends, however it ends. A process number in the
name would not work: another container that shares the temporary folder has other process numbers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from pathlib import Path

from strategy_core.processes import descendants
from strategy_profiles.guards import read_file, remove_folder

PREFIX = "strategy-lab-contexts-"
OWNER = "owner"
UNPACKED_PREFIX = "strategy-lab-unpacked-"
"""Prefix of unpacked recordings, in a folder with an owner, too."""
EXPORT_PREFIX = "strategy-lab-export-"
"""Prefix of `strategy_profiles.exports`, which deletes its folders itself unless it is killed."""
IMPORT_PREFIX = "strategy-lab-import-"
"""Prefix of the locked files of importers, which delete them unless they are killed."""
_YOUNG_S = 60.0
"""Younger folders are kept: their owner may not have locked them yet."""
_LONGEST_EXPORT_S = 3600.0
_MOST_MARK_BYTES = 1 << 12


def make(mark: str) -> tuple[Path, int]:
    """Create a folder. Returns it and its lock.

    The processes that use the folder carry `mark` in their environment (see
    `processes.descendants`).
    """
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    (folder / OWNER).write_text(mark)
    return folder, hold(folder)


def hold(folder: Path) -> int:
    """Become an owner of a folder. Returns the descriptor that holds the lock."""
    lock = os.open(folder / OWNER, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def remove_abandoned(parent: Path | None = None, *, now: float | None = None) -> list[Path]:
    """Remove what has no living owner, and end processes that still use it.

    Returns the removed folders and files.
    """
    removed = []
    parent = parent or Path(tempfile.gettempdir())
    now = time.time() if now is None else now
    prefixes = (PREFIX, UNPACKED_PREFIX, EXPORT_PREFIX, IMPORT_PREFIX)
    for path in (path for prefix in prefixes for path in parent.glob(f"{prefix}*")):
        with contextlib.suppress(OSError):
            if not _is_abandoned(path, now):
                continue
            if path.is_dir():
                _end_processes(path)
                remove_folder(path)
            else:
                path.unlink()
            removed.append(path)
    return removed


def _is_abandoned(path: Path, now: float) -> bool:
    stat = path.lstat()
    age_s = now - stat.st_mtime
    if path.is_symlink() or stat.st_uid != os.getuid() or age_s < _YOUNG_S:
        return False
    if path.name.startswith(EXPORT_PREFIX):
        return age_s > _LONGEST_EXPORT_S
    locked = path if path.name.startswith(IMPORT_PREFIX) else path / OWNER
    try:
        lock = os.open(locked, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
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
    """End processes left behind after the page and its guard were both killed; usually none."""
    with contextlib.suppress(OSError):
        mark = read_file(folder / OWNER, _MOST_MARK_BYTES).decode(errors="replace").strip()
        # a shorter mark could be a prefix of other marks
        if len(mark) == len(descendants.new_mark()):
            descendants.end_descendants(mark)
