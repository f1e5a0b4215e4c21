"""Tags of a run."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.layout import RUN_FILE
from strategy_profiles.run.manifest import change_run_file, create_run_file, read_run_file
from strategy_profiles.run.rename import rename_run
from strategy_profiles.run.tags import set_tags


@pytest.fixture
def run(tmp_path: Path) -> Path:
    create_run_file(tmp_path / "first")
    (tmp_path / "first" / "launcher.jsonl").touch()
    return tmp_path / "first"


def tags_of(run: Path) -> list[str]:
    identity = read_run_file(run)
    assert identity is not None
    return identity.tags


def test_tags_are_kept_once_each_in_order_and_survive_a_new_name(run: Path) -> None:
    before = read_run_file(run)
    assert before is not None
    assert set_tags(run, ["slow  link", "Baseline", "slow link", " "]) == ("Baseline", "slow link")
    assert tags_of(run) == ["Baseline", "slow link"]
    renamed = rename_run(run, "second")
    after = read_run_file(renamed)
    assert after is not None
    assert (after.tags, after.uid) == (["Baseline", "slow link"], before.uid)
    assert set_tags(renamed, []) == ()
    assert tags_of(renamed) == []


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        (["x" * 41], "at most 40"),
        (["a\x07b"], "cannot be a tag"),
        ([str(i) for i in range(21)], "at most 20 tags, not 21"),
    ],
)
def test_tags_that_do_not_fit_are_refused_and_change_nothing(
    tags: list[str], said: str, run: Path
) -> None:
    set_tags(run, ["kept"])
    with pytest.raises(RunFolderError, match=said):
        set_tags(run, tags)
    assert tags_of(run) == ["kept"]


def test_unknown_fields_of_a_newer_version_are_kept(run: Path) -> None:
    change_run_file(run, {"later": [1]})
    set_tags(run, ["kept"])
    assert msgspec.json.decode((run / RUN_FILE).read_bytes())["later"] == [1]


def test_a_damaged_run_has_no_place_for_tags(run: Path) -> None:
    (run / RUN_FILE).write_text("{")
    with pytest.raises(RunFolderError, match=r"no run\.json that can be read"):
        set_tags(run, ["kept"])
    assert (run / RUN_FILE).read_text() == "{"
