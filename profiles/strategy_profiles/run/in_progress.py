"""Which run of a folder is being recorded right now?"""

from __future__ import annotations

import time
from pathlib import Path

from strategy_profiles.errors import LabError, RunFolderError
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.layout import launcher_files, worker_folders
from strategy_profiles.run.status import derive_status

_QUIET_S = 600.0
"""Runs that have written nothing for this long are not read. A run without an event for a minute
counts as hung by default."""


def run_in_progress(runs: Path) -> str | None:
    """Return the name of a run in this folder that has not ended; None if there is none."""
    try:
        folders = [path for path in runs.iterdir() if path.is_dir() and path.name[:1] != "."]
    except OSError:
        return None
    earliest = time.time() - _QUIET_S
    for folder in folders:
        try:
            if _written_at(folder) >= earliest and not derive_status(read_sources(folder)).is_over:
                return folder.name
        except (OSError, RunFolderError):
            continue  # no run, or a damaged one
    return None


def refuse_beside_a_run(runs: Path) -> None:
    """Raise LabError if a run of this folder is being recorded: both would become slower."""
    if busy := run_in_progress(runs):
        raise LabError(
            f"{busy} is being recorded, and a run beside it would change the times of both",
            advice="Stop it, or wait until it ends",
        )


def _written_at(run: Path) -> float:
    files = [*launcher_files(run), *(folder.events for folder in worker_folders(run))]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
