"""A damaged `run.json` is damaged, and nothing else: whatever is in it, no reader fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_profiles.run.manifest import (
    change_run_file,
    create_run_file,
    read_run_file,
    uid_of,
    why_damaged,
)
from strategy_profiles.run.remove import remove_run
from strategy_profiles.run.rename import rename_run
from tests.synthetic import write_run

ODD = [None, True, -1, 1.5, 2**70, "x", "\x1b[2J", [], [1], {}, {"a": 1}]
FIELDS = ("name", "created_ns", "spec", "recorded_by", "cluster", "uid", "parts", "schema_version")


def _without_checksum(text: str) -> dict[str, Any]:
    """The fields of `run.json` as earlier versions wrote it."""
    document: dict[str, Any] = json.loads(text)
    del document["values_crc32"]
    return document


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run") / "run", steps=12, windows=0)


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("field", FIELDS)
def test_any_value_of_any_field_is_read_or_damaged(whole: Path, field: str, value: Any) -> None:
    path = whole / "run.json"
    sound = path.read_text()
    try:
        path.write_text(json.dumps(_without_checksum(sound) | {field: value}))
        identity = read_run_file(whole)
        assert (identity is None) == (why_damaged(whole) is not None)
        profile = strategy_profiles.load(whole)
        assert len(profile.table("steps")) == 12
        assert any("run.json is damaged" in note for note in profile.notes) == (identity is None)
    finally:
        path.write_text(sound)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"schema_version": null}', "`$.schema_version`"),
        ("[]", "got `array`"),
        ("", "truncated"),
        ('{"name": "a"', "truncated"),
        ('{"x": ' + "[" * 100_000, "nested too deeply"),
        ('{"name": "a", "created_ns": 1, "spec": {"steps": "many"}}', "`$.steps`"),
        ('{"name": "a", "created_ns": 1, "spec": {"x": ' + "[" * 50 + "]" * 50 + "}}", "levels"),
    ],
)
def test_a_damaged_run_file_says_why_and_the_run_can_be_deleted(
    tmp_path: Path, text: str, why: str
) -> None:
    run = write_run(tmp_path / "run", steps=4, windows=0)
    (run / "run.json").write_text(text)
    assert read_run_file(run) is None
    assert why in str(why_damaged(run))
    remove_run(run)
    assert not run.exists()


def test_a_new_name_keeps_the_uid_and_fields_of_later_versions(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=4, windows=0)
    uid = uid_of(run)
    document = _without_checksum((run / "run.json").read_text()) | {"later": [1]}
    (run / "run.json").write_text(json.dumps(document))
    renamed = rename_run(run, "other")
    assert uid_of(renamed) == uid
    assert json.loads((renamed / "run.json").read_text())["later"] == [1]


def test_a_run_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    cluster = {"run_id": "x", "tasks": [{"role": "worker", "index": 0, "address": "a:1"}]}
    identity = create_run_file(tmp_path / "run", {"steps": 3}, cluster=cluster, parts=["a"])
    assert read_run_file(tmp_path / "run") == identity
    assert why_damaged(tmp_path / "nowhere") is None


def test_a_changed_value_is_damage(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=4, windows=0)
    text = (run / "run.json").read_text()
    (run / "run.json").write_text(text.replace(": 256,", ": 266,"))
    assert "a value was changed after it was written" in str(why_damaged(run))
    assert any("the checksum differs" in note for note in strategy_profiles.load(run).notes)


def test_other_spaces_and_another_order_of_keys_are_no_damage(tmp_path: Path) -> None:
    identity = create_run_file(tmp_path / "run", {"learning_rate": 1e-3, "steps": 3})
    file = tmp_path / "run" / "run.json"
    document = json.loads(file.read_text())
    file.write_text(json.dumps(dict(reversed(document.items()))))
    run_file = read_run_file(tmp_path / "run")
    assert run_file is not None
    assert run_file.uid == identity.uid


def test_a_changed_run_file_has_the_checksum_of_its_new_values(tmp_path: Path) -> None:
    create_run_file(tmp_path / "run")
    change_run_file(tmp_path / "run", {"name": "other"})
    assert why_damaged(tmp_path / "run") is None
    run_file = read_run_file(tmp_path / "run")
    assert run_file is not None
    assert run_file.name == "other"
