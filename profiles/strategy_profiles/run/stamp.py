"""The state of a run's files as text, by which an answer from them is known to be still right."""

from __future__ import annotations

from pathlib import Path

from strategy_profiles.run.identity import identity_of
from strategy_profiles.run.layout import RUN_FILE, launcher_files, worker_folders


def stamp_of(run: Path) -> str:
    """Which run it is, and sizes and times of its files: it changes whenever the run has grown."""
    files = [run / RUN_FILE]
    windows = []
    try:
        files += launcher_files(run)
        for folder in worker_folders(run):
            files += [folder.events, folder.stacks]  # samples come without steps, too
            windows.append(str(folder.path.stat().st_mtime_ns))
    except OSError:
        pass  # `load` says what is wrong with the folder
    return " ".join([identity_of(run) or "-", *map(_file_stamp, files), *windows])


def _file_stamp(file: Path) -> str:
    try:
        stat = file.stat()
    except OSError:
        return "-"
    return f"{stat.st_ino}:{stat.st_size}:{stat.st_mtime_ns}"
