"""The folders of one run's hosts become one run, or it is said why they do not."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_collect.merge_hosts import collect
from strategy_core.cli.main import main
from strategy_profiles.errors import RunFolderError
from strategy_profiles.guards import remove_folder
from strategy_profiles.run.layout import launcher_file
from strategy_profiles.run.manifest import change_run_file
from tests.event_records import read_records, write_records
from tests.profiles.test_deep_folders import LISTED, make_deep
from tests.synthetic import write_run


@pytest.fixture
def hosts(tmp_path: Path) -> list[Path]:
    """A run of two workers, and the same as each of two hosts would have written it."""
    whole = write_run(tmp_path / "whole", replicas=4, workers=2, steps=30)
    tasks = [{"role": "worker", "index": i, "address": f"h{i}:1"} for i in (0, 1)]
    change_run_file(whole, {"cluster": {"run_id": "r", "tasks": tasks}})
    folders = []
    for number in (0, 1):
        folder = tmp_path / f"host-{number}"
        folder.mkdir()
        shutil.copy(whole / "run.json", folder)
        shutil.copytree(whole / f"worker-{number}-0", folder / f"worker-{number}-0")
        lines = (whole / "launcher.jsonl").read_text().splitlines()
        own = [line for line in lines if json.loads(line).get("worker", number) == number]
        launcher_file(folder, number).write_text("".join(f"{line}\n" for line in own))
        folders.append(folder)
    return folders


def test_a_run_that_was_collected_is_the_run(hosts: list[Path], tmp_path: Path) -> None:
    collected = collect(hosts, tmp_path / "all")
    assert (collected.present, collected.missing) == ((0, 1), ())
    merged_profile, whole = (
        strategy_profiles.load(tmp_path / "all"),
        strategy_profiles.load(tmp_path / "whole"),
    )
    assert merged_profile.status.state == "finished"
    for table in ("steps", "replica_steps", "spans", "collectives", "marks"):
        assert merged_profile.table(table).equals(whole.table(table)), table
    left_out = {"run", "path"}
    one, other = (
        {key: value for key, value in profile.summary().items() if key not in left_out}
        for profile in (merged_profile, whole)
    )
    assert one["segments"] == other["segments"]
    assert merged_profile.identity is not None
    assert merged_profile.identity.name == "all"
    assert not list(tmp_path.glob(".all*"))


def test_the_command_shows_the_summary(
    hosts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["collect", *map(str, hosts), "-o", str(tmp_path / "all")]) == 0
    assert "Collected in" in capsys.readouterr().out
    assert main(["collect", str(hosts[0]), "-o", str(tmp_path / "half")]) == 1
    assert "no records of worker 1" in capsys.readouterr().err
    assert main(["collect", str(hosts[0]), "-o", str(tmp_path / "half")]) == 2
    assert "not an empty folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cluster": None}, "names no cluster"),
        ({"cluster": {"run_id": "r", "tasks": []}}, "differ in the addresses of the cluster"),
        ({"spec": {"steps": 31}}, "differ in steps"),
        ({}, "the job that started them"),
    ],
)
def test_folders_of_another_run_are_not_merged(
    hosts: list[Path], tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    identity = json.loads((hosts[1] / "run.json").read_text())
    other = identity["cluster"] | {"run_id": "s"}
    spec = identity["spec"] | changes.get("spec", {})
    change_run_file(hosts[1], {"cluster": other} | changes | {"spec": spec})
    with pytest.raises(RunFolderError, match=words):
        collect(hosts, tmp_path / "all")
    assert not (tmp_path / "all").exists()


def test_two_runs_of_the_same_request_are_distinguished(hosts: list[Path], tmp_path: Path) -> None:
    for file in (hosts[1] / "worker-1-0" / "events.jsonl", launcher_file(hosts[1], 1)):
        lines = read_records(file)
        for line in lines:
            line["at_ns"] += 3600 * 10**9
        write_records(file, lines)
    with pytest.raises(RunFolderError, match="one ended before the other began"):
        collect(hosts, tmp_path / "all")


def test_a_process_is_recorded_once(hosts: list[Path], tmp_path: Path) -> None:
    copy = shutil.copytree(hosts[1], tmp_path / "copy")
    with pytest.raises(RunFolderError, match="worker-1-0 is in"):
        collect([*hosts, copy], tmp_path / "all")
    with pytest.raises(RunFolderError, match="does not exist"):
        collect([tmp_path / "nowhere"], tmp_path / "all")


def test_links_and_pipes_stay_behind(hosts: list[Path], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    worker = hosts[1] / "worker-1-0"
    (worker / "stderr.log").unlink(missing_ok=True)
    (worker / "stderr.log").symlink_to(secret)
    os.mkfifo(worker / "window-000009")
    collect(hosts, tmp_path / "all")
    names = [path.name for path in (tmp_path / "all" / "worker-1-0").iterdir()]
    assert "events.jsonl" in names
    assert not {"stderr.log", "window-000009"} & set(names)


def test_hosts_of_a_deep_run_are_not_collected(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=5, windows=0)
    task = {"role": "worker", "index": 0, "address": "a:1"}
    change_run_file(run, {"cluster": {"run_id": "r", "tasks": [task]}})
    make_deep(run / "worker-0-0", LISTED)
    with pytest.raises(RunFolderError, match="nested too deeply"):
        collect([run], tmp_path / "collected")
    assert list(tmp_path.iterdir()) == [run]
    remove_folder(run)
