"""Names of new runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.manifest import create_run_file, uid_of
from strategy_profiles.run.new_name import in_folder, new_name, numbered_name
from strategy_profiles.spec.run_spec import parse_spec


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"devices": "cpu:4"}, "mirrored-cpu4-digits-cnn-1"),
        ({}, "mirrored-digits-cnn-1"),
        (
            {"strategy": "multi-worker-mirrored", "workers": 3, "devices": "gpu:0,gpu:1"},
            "multi-worker-mirrored-3-workers-gpu0-gpu1-digits-cnn-1",
        ),
        ({"workload": "/home/me/my model (2).py"}, "mirrored-my-model-2-1"),
        ({"workload": "/x/日本.py"}, "mirrored-1"),
    ],
)
def test_a_name_says_what_was_asked(fields: dict[str, object], name: str, tmp_path: Path) -> None:
    assert new_name(tmp_path / "not there yet", parse_spec(fields)) == name


def test_a_name_is_numbered_after_the_highest_one(tmp_path: Path) -> None:
    taken_names = ("2", "9-a-1", "x", "x-12")
    for taken in (f"mirrored-digits-cnn-{ending}" for ending in taken_names):
        (tmp_path / taken).mkdir()
    assert new_name(tmp_path, parse_spec({})) == "mirrored-digits-cnn-10"


def test_runs_that_start_at_once_get_a_folder_each(tmp_path: Path) -> None:
    all_have_chosen = threading.Barrier(3)
    created: dict[str, str] = {}

    def start() -> None:
        has_waited = False

        def choose() -> Path:
            nonlocal has_waited
            folder = tmp_path / numbered_name(tmp_path, ["train"])
            if not has_waited:
                has_waited = True
                all_have_chosen.wait()
            return folder

        def create(folder: Path) -> None:
            created[folder.name] = create_run_file(folder).uid

        in_folder(None, choose, create)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(created) == {"train-1", "train-2", "train-3"}
    assert created == {name: uid_of(tmp_path / name) for name in created}


def test_a_folder_that_was_asked_for_is_not_exchanged_for_another(tmp_path: Path) -> None:
    create_run_file(tmp_path / "mine")
    with pytest.raises(RunFolderError, match="holds another run already"):
        in_folder(tmp_path / "mine", lambda: tmp_path / "other", create_run_file)
    assert not (tmp_path / "other").exists()


def test_a_runs_folder_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunFolderError, match="cannot be written"):
        in_folder(None, lambda: tmp_path / "file" / "run", create_run_file)
