"""Folders of strangers, one in the other by the thousand: listed, measured, removed, or refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strategy_profiles.guards import files_below, remove_folder
from strategy_profiles.run.remove import folder_bytes, remove_run
from tests.synthetic import write_run

LISTED, DEEPEST = 1500, 3000
"""More than Python's recursion; more than the system's longest path."""


def make_deep(folder: Path, levels: int) -> None:
    """Write a file of ten bytes below so many folders."""
    inner = os.open(folder, os.O_DIRECTORY)
    for _ in range(levels):
        os.mkdir("d", dir_fd=inner)
        below = os.open("d", os.O_DIRECTORY, dir_fd=inner)
        os.close(inner)
        inner = below
    file = os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=inner)
    os.write(file, bytes(10))
    os.close(file)
    os.close(inner)


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    folder = tmp_path / "deep"
    folder.mkdir()
    make_deep(folder, DEEPEST)
    return folder


def test_a_deep_folder_is_removed(deep: Path) -> None:
    remove_folder(deep)
    assert not deep.exists()


def test_a_folder_without_any_rights_is_removed(tmp_path: Path) -> None:
    closed = tmp_path / "top" / "a" / "b"
    closed.mkdir(parents=True)
    (closed / "file").touch()
    closed.chmod(0)
    closed.parent.chmod(0)
    remove_folder(tmp_path / "top")
    assert not (tmp_path / "top").exists()


def test_files_are_found_as_deep_as_a_path_can_be_and_links_are_not_followed(deep: Path) -> None:
    assert list(files_below(deep)) == []
    other = deep.parent / "other"
    other.mkdir()
    make_deep(other, LISTED)
    (other / "up").symlink_to(deep.parent)
    assert {file.name for file in files_below(other)} == {"file", "up"}
    remove_folder(other)
    remove_folder(deep)


def test_a_run_that_is_deep_is_measured_and_removed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=5, windows=0)
    before = folder_bytes(run)
    make_deep(run / "worker-0-0", LISTED)
    assert folder_bytes(run) == before + 10
    remove_run(run)
    assert list(tmp_path.iterdir()) == []
