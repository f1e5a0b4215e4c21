"""Training state on disk, from which a fresh worker continues.

A checkpoint is a folder with `state.npz` and `position.json`. It is written to a temporary folder
and then renamed, so that readers only see complete checkpoints.
"""

from __future__ import annotations

import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import psutil

from strategy_core.runtime.error_message import cause
from strategy_core.training import state
from strategy_profiles.errors import LabError, refused
from strategy_profiles.guards import open_file
from strategy_profiles.run.checkpoints import POSITION_FILE, Position, read_position

_STATE_FILE = "state.npz"


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
    position = Position(
        checkpoint.step, checkpoint.examples, checkpoint.num_segments, checkpoint.checksum
    )
    try:
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        np.savez(beside / _STATE_FILE, *checkpoint.state)
        (beside / POSITION_FILE).write_bytes(msgspec.json.encode(position))
        # A folder cannot replace another one atomically. A process killed between the two renames
        # leaves no checkpoint at `path`; killed at any other time it leaves the old or the new one.
        shutil.rmtree(before, ignore_errors=True)
        if path.exists():
            path.rename(before)
        beside.rename(path)
        shutil.rmtree(before, ignore_errors=True)
    except OSError as error:
        raise refused(error, f"The checkpoint cannot be written to {path}") from error


def load(path: Path) -> Checkpoint:
    """Read a checkpoint; raises LabError if it is incomplete or damaged."""
    try:
        position = read_position(path)
        _check_size(path / _STATE_FILE)
        with np.load(path / _STATE_FILE, allow_pickle=False) as archive:
            arrays = [archive[f"arr_{index}"] for index in range(len(archive.files))]
        if not all(isinstance(array, np.ndarray) for array in arrays):
            raise ValueError("its state holds something that is no array")
    except Exception as error:  # zipfile, NumPy and each decompressor have errors of their own
        raise LabError(f"The checkpoint {path} cannot be read: {cause(error)}") from error
    loaded = Checkpoint(arrays, **msgspec.structs.asdict(position))
    if state.checksum(loaded.state) != loaded.checksum:
        raise LabError(f"The checkpoint {path} changed since it was saved: its checksum differs")
    return loaded


def _check_size(file: Path) -> None:
    """Raise OSError if a state is no file, ValueError if it would not fit into memory unpacked."""
    with open_file(file) as opened, zipfile.ZipFile(opened) as archive:
        size = sum(member.file_size for member in archive.infolist())
    free = psutil.virtual_memory().available
    if size > free:
        raise ValueError(f"its state has {size:,} bytes, and {free:,} of memory are free")
