"""Delete a run: a run folder that nobody writes to, and nothing else."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from strategy_lab.profiles.errors import RunFolderError
from strategy_lab.profiles.layout import LAUNCHER_EVENTS, RUN_FILE, worker_folders
from strategy_lab.profiles.sources import read_sources
from strategy_lab.profiles.status import derive_status


def remove_run(run: Path) -> None:
    """Delete a run folder; raises RunFolderError where it is in use, a link, or no run.

    It is renamed out of sight first, so that no reader ever finds half of it.
    """
    check_removable(run, "deleted")
    hidden = run.with_name(f".deleted-{run.name}-{os.getpid()}")
    try:
        run.rename(hidden)
        shutil.rmtree(hidden)
    except OSError as error:
        raise RunFolderError(
            "A run folder can be deleted", f"{run} ({error.strerror or error})"
        ) from error


def check_removable(run: Path, deed: str) -> None:
    """Raise RunFolderError where a folder is in use, a link, or no run; `deed` is refused."""
    if run.is_symlink():
        raise RunFolderError(f"Only a folder itself is {deed}, never a link to one", run)
    if not run.is_dir() or not _holds_run(run):
        raise RunFolderError(f"Only a run folder is {deed}", run)
    if not derive_status(read_sources(run)).is_over:
        raise RunFolderError(
            f"A run in use is never {deed}", f"{run} (still running)", "Stop it first"
        )


def folder_bytes(run: Path) -> int:
    """What a run takes on the disk, links not followed."""
    total = 0
    for folder, _folders, files in os.walk(run):
        for name in files:
            try:
                total += (Path(folder) / name).lstat().st_size
            except OSError:
                continue  # deleted meanwhile
    return total


def _holds_run(run: Path) -> bool:
    return (run / RUN_FILE).exists() or (run / LAUNCHER_EVENTS).exists() or any(worker_folders(run))
