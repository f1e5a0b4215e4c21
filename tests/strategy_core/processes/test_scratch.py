"""The folder of a recording goes with its owner, however that ended."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from strategy_core.processes import descendants, scratch

LATER_S = 3600.0


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, int]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return scratch.make(descendants.new_mark())


def remove_abandoned(parent: Path) -> list[Path]:
    return scratch.remove_abandoned(parent, now=time.time() + LATER_S)


def test_a_folder_in_use_stays(made: tuple[Path, int], tmp_path: Path) -> None:
    folder, lock = made
    assert remove_abandoned(tmp_path) == []
    other = scratch.hold(folder)
    os.close(lock)
    assert remove_abandoned(tmp_path) == []  # the second owner is still there
    os.close(other)
    assert folder.is_dir()


def test_the_folder_of_an_owner_that_is_gone_is_removed(
    made: tuple[Path, int], tmp_path: Path
) -> None:
    folder, lock = made
    (folder / "tmp").mkdir()
    (folder / "tmp" / "left").write_text("x")
    os.close(lock)
    assert remove_abandoned(tmp_path) == [folder]
    assert not folder.exists()


def test_a_folder_that_was_just_made_stays(made: tuple[Path, int], tmp_path: Path) -> None:
    os.close(made[1])
    assert scratch.remove_abandoned(tmp_path) == []


def test_the_folder_of_a_killed_export_is_removed_after_the_longest_export_time(
    tmp_path: Path,
) -> None:
    folder = tmp_path / f"{scratch.EXPORT_PREFIX}x"
    folder.mkdir()
    assert scratch.remove_abandoned(tmp_path, now=time.time() + 600) == []
    assert scratch.remove_abandoned(tmp_path, now=time.time() + 2 * LATER_S) == [folder]


def test_only_the_labs_own_folders_are_removed(tmp_path: Path) -> None:
    (tmp_path / "somebody-else").mkdir()
    (tmp_path / "target").mkdir()
    (tmp_path / f"{scratch.PREFIX}link").symlink_to(tmp_path / "target")
    (tmp_path / f"{scratch.PREFIX}file").write_text("x")
    remove_abandoned(tmp_path)
    assert (tmp_path / "somebody-else").is_dir()
    assert (tmp_path / "target").is_dir()
