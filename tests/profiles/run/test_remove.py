"""A run folder is deleted whole, and only while no process uses it."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.remove import finish_removals, folder_bytes, remove_run
from tests.growing_run import begin_run
from tests.synthetic import write_run


def test_a_finished_run_is_gone_without_a_trace(tmp_path: Path) -> None:
    run = write_run(tmp_path / "old", steps=5, windows=1)
    assert folder_bytes(run) > 1000
    remove_run(run)
    assert list(tmp_path.iterdir()) == []


def test_a_deletion_that_was_cut_off_is_finished_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(tmp_path / "old", steps=5, windows=1)
    with monkeypatch.context() as killed:
        killed.setattr(shutil, "rmtree", lambda _folder: None)
        remove_run(run)
    (hidden,) = tmp_path.iterdir()
    (hidden / "worker-0-0").chmod(0)
    own = tmp_path / ".deleted-by-me"
    own.mkdir()
    finish_removals(tmp_path)
    assert hidden.exists(), "another process may be deleting it now"
    finish_removals(tmp_path, lambda: time.time() + 7200)
    assert list(tmp_path.iterdir()) == [own]


def test_the_remains_of_a_run_can_be_deleted(tmp_path: Path) -> None:
    run = write_run(tmp_path / "half", steps=5, windows=0, ending=None, missing=("run.json",))
    remove_run(run)
    assert not run.exists()


def test_a_run_in_use_stays(tmp_path: Path) -> None:
    run = begin_run(tmp_path / "live", steps=5)
    with pytest.raises(RunFolderError, match="live is in use and cannot be deleted"):
        remove_run(run)
    assert (run / "run.json").exists()


@pytest.mark.parametrize("make", ["folder", "file", "nothing", "link"])
def test_nothing_but_a_run_folder_is_deleted(tmp_path: Path, make: str) -> None:
    target = tmp_path / "other"
    if make == "folder":
        (target / "thesis").mkdir(parents=True)
    elif make == "file":
        target.write_text("mine")
    elif make == "link":
        target.symlink_to(write_run(tmp_path / "run", steps=5, windows=0))
    with pytest.raises(RunFolderError):
        remove_run(target)
    if make != "nothing":
        assert target.exists()


DAMAGE: dict[str, Callable[[Path], object]] = {
    "a version that is no number": lambda run: (run / "run.json").write_text(
        '{"schema_version": null}'
    ),
    "run.json as a folder": lambda run: (
        (run / "run.json").unlink(),
        (run / "run.json").mkdir(),
    ),
    "run.json as a dangling link": lambda run: (
        (run / "run.json").unlink(),
        (run / "run.json").symlink_to("/nope"),
    ),
    "events as a pipe": lambda run: (
        (run / "launcher.jsonl").unlink(),
        os.mkfifo(run / "launcher.jsonl"),
    ),
    "events of wrong types": lambda run: (run / "launcher.jsonl").write_text(
        '{"kind": "launched", "worker": [], "pid": "x", "started_ns": {}, "at_ns": null}\n'
        '{"kind": "exited", "worker": {}, "verdict": 3}\n{"kind": []}\n[[[\n'
    ),
    "a folder without permissions": lambda run: (
        (run / "locked" / "deep").mkdir(parents=True),
        (run / "locked").chmod(0),
    ),
    "links to outside": lambda run: (
        (run / "outside").symlink_to(run.parent / "keep"),
        (run / "worker-7-0").symlink_to(run.parent / "keep"),
    ),
    "names that are no text": lambda run: (run / os.fsdecode(b"\xff\xfe")).mkdir(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_run_can_be_deleted(damage: str, tmp_path: Path) -> None:
    (tmp_path / "keep").mkdir()
    (tmp_path / "keep" / "mine.txt").write_text("mine")
    run = write_run(tmp_path / "bad", steps=5, windows=1)
    DAMAGE[damage](run)
    remove_run(run)
    assert [path.name for path in tmp_path.iterdir()] == ["keep"]
    assert (tmp_path / "keep" / "mine.txt").read_text() == "mine"


def test_a_run_with_the_longest_name_can_be_deleted(tmp_path: Path) -> None:
    run = write_run(tmp_path / ("n" * 255), steps=5, windows=0)
    remove_run(run)
    assert list(tmp_path.iterdir()) == []
