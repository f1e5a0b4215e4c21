"""A run gets another name: its folder's, and the one it calls itself."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.rename import rename_run
from tests.growing_run import begin_run
from tests.synthetic import write_run


def test_the_folder_and_the_run_have_the_new_name(tmp_path: Path) -> None:
    run = write_run(tmp_path / "old", steps=20, windows=1)
    before = strategy_profiles.load(run)
    renamed = rename_run(run, " a better näme ")
    assert renamed == tmp_path / "a better näme"
    assert not run.exists()
    after = strategy_profiles.load(renamed)
    assert after.name == "a better näme"
    assert after.spec == before.spec
    assert after.identity is not None
    assert after.identity.created_ns == before.identity.created_ns  # type: ignore[union-attr]
    assert after.table("steps").equals(before.table("steps"))
    assert not list(renamed.glob(".run.json*"))


def test_the_remains_of_a_run_can_be_renamed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "half", steps=5, windows=0, ending=None, missing=("run.json",))
    assert rename_run(run, "other").is_dir()


def test_the_same_name_changes_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "same", steps=5, windows=0)
    assert rename_run(run, "same") == run


@pytest.mark.parametrize(
    "name", ["", "  ", ".hidden", "..", "a/b", "a\\b", "/tmp/x", "a\nb", "\0", "x" * 201]
)
def test_an_invalid_name_is_refused(tmp_path: Path, name: str) -> None:
    run = write_run(tmp_path / "run", steps=5, windows=0)
    with pytest.raises(RunFolderError) as refused:
        rename_run(run, name)
    assert repr(name.strip()) in str(refused.value) or "has 201 bytes" in str(refused.value)
    assert run.is_dir()


@pytest.mark.parametrize("taken", ["folder", "file", "link"])
def test_a_rename_replaces_no_run(tmp_path: Path, taken: str) -> None:
    run, other = write_run(tmp_path / "run", steps=5, windows=0), tmp_path / "other"
    if taken == "folder":
        other.mkdir()
    elif taken == "file":
        other.write_text("mine")
    else:
        other.symlink_to(tmp_path / "nowhere")
    with pytest.raises(RunFolderError, match="other exists already"):
        rename_run(run, "other")


def test_a_run_in_use_keeps_its_name(tmp_path: Path) -> None:
    run = begin_run(tmp_path / "live", steps=5)
    with pytest.raises(RunFolderError, match="live is in use and cannot be renamed"):
        rename_run(run, "dead")
    assert run.is_dir()
