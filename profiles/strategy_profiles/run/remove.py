"""Delete a run folder that is not in use."""

from __future__ import annotations

import os
import re
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import files_below, remove_folder
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.layout import LAUNCHER_EVENTS, RUN_FILE, worker_folders
from strategy_profiles.run.status import derive_status

_HIDDEN = ".deleted-"
_HIDDEN_NAME = re.compile(re.escape(_HIDDEN) + r"[0-9a-f]{32}")
_LONGEST_REMOVAL_S = 3600.0


def remove_run(run: Path) -> None:
    """Delete a run folder. Raises RunFolderError if it is in use, a link, or not a run.

    Damaged contents do not matter: only event files are opened. The folder is first renamed to a
    hidden name, so that no reader finds a partly deleted run.
    """
    check_removable(run, "deleted")
    # Not derived from the run's name: with a prefix, that could be too long for a file name.
    hidden = run.with_name(f"{_HIDDEN}{uuid.uuid4().hex}")
    try:
        run.rename(hidden)
        remove_folder(hidden)
    except OSError as error:
        raise RunFolderError(
            f"The run folder {run} cannot be deleted: {error.strerror or error}"
        ) from error


def finish_removals(runs: Path, clock: Callable[[], float] = time.time) -> None:
    """Delete what a process that was killed has left of the runs that it deleted."""
    for folder in runs.glob(f"{_HIDDEN}*"):
        try:
            hidden_at = folder.lstat().st_ctime  # a process may still be at work on a newer one
            is_left = clock() - hidden_at > _LONGEST_REMOVAL_S and not folder.is_symlink()
            if _HIDDEN_NAME.fullmatch(folder.name) and is_left:
                remove_folder(folder)
        except OSError:
            continue


def check_removable(run: Path, deed: str) -> None:
    """Raise RunFolderError if a folder is in use, a link, or not a run; `deed` is refused."""
    if run.is_symlink():
        raise RunFolderError(
            f"{run} is a link and cannot be {deed}", advice="Name the folder that it leads to"
        )
    if not run.is_dir() or not _holds_run(run):
        raise RunFolderError(f"{run} is not a run folder and cannot be {deed} as one")
    if _is_in_use(run):
        raise RunFolderError(f"{run} is in use and cannot be {deed}", advice="Stop the run first")


def _is_in_use(run: Path) -> bool:
    """Return whether a process of the run is alive, according to its events.

    Unreadable events do not prevent the deletion.
    """
    try:
        return not derive_status(read_sources(run)).is_over
    except RunFolderError:
        return False


def folder_bytes(run: Path) -> int:
    """Return the total size of a run's files in bytes. Links are not followed."""
    total = 0
    for file in files_below(run):
        with suppress(OSError):  # deleted in the meantime
            total += file.lstat().st_size
    return total


def _holds_run(run: Path) -> bool:
    try:
        if os.path.lexists(run / RUN_FILE) or os.path.lexists(run / LAUNCHER_EVENTS):
            return True
        return any(worker_folders(run))
    except OSError:
        return False
