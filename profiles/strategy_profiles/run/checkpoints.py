"""The training state in a run folder from which another run can continue. Free of TensorFlow.

`strategy_core.training.checkpoint` writes and reads the state itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from strategy_profiles.decoders import decoder_of
from strategy_profiles.guards import read_file
from strategy_profiles.run.layout import worker_folders
from strategy_profiles.spec.field_types import Count, Name, Step

POSITION_FILE = "position.json"
_MOST_POSITION_BYTES = 1 << 16


class Position(Struct, frozen=True):
    """Where a run was when its checkpoint was written, as in `position.json`."""

    step: Step
    """Steps done."""
    examples: Count
    """Examples seen: the position in the data."""
    num_segments: Count
    checksum: Name
    """Of the state."""


_POSITION = decoder_of(Position)


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
            checkpoint = _read(folder.checkpoint)
            if checkpoint is not None:
                return checkpoint
    return None


def read_position(checkpoint: Path) -> Position:
    """Read the position of a checkpoint. Raises ValueError, or OSError if it cannot be read."""
    return _POSITION.decode(read_file(checkpoint / POSITION_FILE, _MOST_POSITION_BYTES))


def _read(path: Path) -> SavedState | None:
    try:
        return SavedState(path, read_position(path).step)
    except (OSError, ValueError):
        return None
