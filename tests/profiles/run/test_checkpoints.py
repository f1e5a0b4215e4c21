"""The position of a saved state, in a folder whose contents may be anything."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from strategy_profiles.run.checkpoints import last_saved_state
from strategy_profiles.run.layout import worker_folder

POSITION = {"step": 12, "examples": 96, "num_segments": 1, "checksum": "0"}


def _saved(run: Path) -> Path:
    checkpoint = worker_folder(run, 0).checkpoint
    checkpoint.mkdir(parents=True)
    (checkpoint / "position.json").write_text(json.dumps(POSITION))
    return checkpoint


def test_the_state_of_the_newest_process_counts(tmp_path: Path) -> None:
    first = _saved(tmp_path)
    state = last_saved_state(tmp_path)
    assert state is not None
    assert (state.path, state.step) == (first, 12)
    worker_folder(tmp_path, 0, 1).path.mkdir()
    assert last_saved_state(tmp_path) == state


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_text(json.dumps(POSITION | {"step": "12"})),
        lambda file: file.write_text(json.dumps(POSITION | {"step": -1})),
        lambda file: file.write_text(json.dumps(POSITION).replace("12", "Infinity")),
        lambda file: file.write_text("[" * 60_000),
        lambda file: file.write_text("[]"),
        lambda file: file.write_text('{"step": 12}'),
        lambda file: file.unlink(),
        lambda file: (file.unlink(), os.mkfifo(file)),
        lambda file: (file.unlink(), file.symlink_to("/dev/zero")),
        lambda file: os.truncate(file, 1 << 40),
    ],
)
def test_a_damaged_position_is_no_saved_state(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    damage(_saved(tmp_path) / "position.json")
    assert last_saved_state(tmp_path) is None
