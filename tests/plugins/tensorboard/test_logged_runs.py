"""Runs below a log directory are found at any depth, by their path."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strategy_tensorboard.logged_runs import FRESH_S, LoggedRuns
from tests.doors.hostile import make_files, no_hang
from tests.synthetic import write_run


def test_runs_are_found_at_any_depth(tmp_path: Path) -> None:
    write_run(tmp_path / "one")
    write_run(tmp_path / "a" / "b" / "two")
    (tmp_path / "events").mkdir()
    assert set(LoggedRuns(tmp_path).find()) == {"one", "a/b/two"}


def test_a_log_directory_that_is_a_run_has_that_run(tmp_path: Path) -> None:
    run = write_run(tmp_path / "one")
    write_run(tmp_path / "beside")
    assert set(LoggedRuns(run).find()) == {"one"}


def test_a_missing_log_directory_has_no_runs(tmp_path: Path) -> None:
    assert LoggedRuns(tmp_path / "missing").find() == {}


def test_a_link_to_a_folder_above_is_not_followed(tmp_path: Path) -> None:
    write_run(tmp_path / "logs" / "one")
    (tmp_path / "logs" / "up").symlink_to(tmp_path)
    assert set(LoggedRuns(tmp_path / "logs").find()) == {"one"}


@pytest.mark.parametrize("name", [b"\xff", b"a\x03rm", b"a\nb", b"\x1b[201~"])
def test_a_folder_whose_name_cannot_be_typed_is_not_looked_into(
    name: bytes, tmp_path: Path
) -> None:
    """The tab draws nothing if it cannot write an address, and it offers a command to copy."""
    write_run(tmp_path / "models" / "one", steps=5, windows=0)
    write_run(tmp_path / os.fsdecode(name) / "two", steps=5, windows=0)
    assert set(LoggedRuns(tmp_path).find()) == {"models/one"}


def test_a_new_run_is_listed_once_the_list_is_no_longer_fresh(tmp_path: Path) -> None:
    now = [0.0]
    runs = LoggedRuns(tmp_path, clock=lambda: now[0])
    assert not runs.find()
    write_run(tmp_path / "one")
    assert not runs.find()
    now[0] += FRESH_S
    assert set(runs.find()) == {"one"}


def test_pipes_devices_and_loops_in_a_log_directory_are_no_runs(tmp_path: Path) -> None:
    """Others may write to it; TensorBoard asks every few seconds."""
    run = write_run(tmp_path / "logs" / "one", steps=5, windows=0)
    made = make_files(tmp_path / "logs" / "strange")
    for name in ("pipe", "device", "loop", "socket", "deep file", "file of digits"):
        folder = tmp_path / "logs" / f"run of {name}"
        folder.mkdir()
        (folder / "run.json").symlink_to(made[name])
    with no_hang("log directory"):
        logged = LoggedRuns(run.parent).find()
    assert "one" in logged
    assert all(entry.is_damaged for name, entry in logged.items() if name != "one")
