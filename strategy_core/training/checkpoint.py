"""Training state on disk, from which a fresh worker continues.

A checkpoint is a folder with `state.npz` and `position.json`. It is written to a temporary folder
and then renamed, so that readers only see complete checkpoints.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from strategy_core.training import state
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.checkpoints import POSITION_FILE


@dataclass(frozen=True)
class Checkpoint:
    """Training state and position of a run."""

    state: state.State
    step: int
    """Steps done."""
    examples: int
    """Examples seen: the position in the data."""
    num_segments: int
    checksum: str


def save(path: Path, checkpoint: Checkpoint) -> None:
    """Write the checkpoint; raises LabError if the disk refuses it."""
    beside, before = (path.with_name(path.name + end) for end in (".part", ".before"))
    position = {
        "step": checkpoint.step,
        "examples": checkpoint.examples,
        "num_segments": checkpoint.num_segments,
        "checksum": checkpoint.checksum,
    }
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        np.savez(beside / "state.npz", *checkpoint.state)
        (beside / POSITION_FILE).write_text(json.dumps(position), encoding="utf-8")
        # A folder cannot replace another one atomically. A process killed between the two renames
        # leaves no checkpoint at `path`; killed at any other time it leaves the old or the new one.
        shutil.rmtree(before, ignore_errors=True)
        if path.exists():
            path.rename(before)
        beside.rename(path)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        raise LabError(
            f"The checkpoint cannot be written to {path}: {error.strerror}",
            advice="Free some space",
        ) from error


def load(path: Path) -> Checkpoint:
    """Read a checkpoint; raises LabError if it is incomplete."""
    try:
        position = json.loads((path / POSITION_FILE).read_text(encoding="utf-8"))
        with np.load(path / "state.npz", allow_pickle=False) as archive:
            arrays = [archive[f"arr_{index}"] for index in range(len(archive.files))]
        loaded = Checkpoint(state=arrays, **position)
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise LabError(f"The checkpoint {path} cannot be read: {error}") from error
    if state.checksum(loaded.state) != loaded.checksum:
        raise LabError(f"The checkpoint {path} changed since it was saved: its checksum differs")
    return loaded
