"""The training state in a run folder from which another run can continue. Free of TensorFlow.

`strategy_core.training.checkpoint` writes and reads the state itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from strategy_lab.profiles.run.layout import worker_folders

POSITION_FILE = "position.json"


@dataclass(frozen=True, slots=True)
class SavedState:
    """A checkpoint, and the number of steps that were done when it was written."""

    path: Path
    step: int


def last_saved_state(run: Path, generation: int | None = None) -> SavedState | None:
    """The newest checkpoint of the leader, of processes up to `generation`; None without one."""
    try:
        folders = [folder for folder in worker_folders(run) if folder.worker == 0]
    except OSError:
        return None
    for folder in reversed(folders):
        if generation is None or folder.generation <= generation:
            found = _read(folder.checkpoint)
            if found is not None:
                return found
    return None


def _read(path: Path) -> SavedState | None:
    try:
        position = json.loads((path / POSITION_FILE).read_text(encoding="utf-8"))
        return SavedState(path, int(position["step"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
