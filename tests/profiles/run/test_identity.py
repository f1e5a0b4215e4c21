"""Two runs are never taken for one, whatever their folder's name and inode are."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.identity import identity_of
from strategy_profiles.run.layout import RUN_FILE, worker_folder
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.run.rename import rename_run
from tests.synthetic import write_run


def test_a_run_made_again_of_the_same_spec_at_the_same_time_has_another_identity(
    tmp_path: Path,
) -> None:
    run = tmp_path / "one"
    create_run_file(run, {"steps": 3}, created_ns=1)
    before = identity_of(run)
    shutil.rmtree(run)
    create_run_file(run, {"steps": 3}, created_ns=1)
    assert before is not None
    assert identity_of(run) not in (before, None)


def test_a_run_keeps_its_identity_while_it_grows_and_when_it_is_renamed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "one", steps=3, windows=0)
    before = identity_of(run)
    EventLog(worker_folder(run, 0).events).write(StepDone(0, 3, 3, 1.0, None, None, False))
    assert identity_of(run) == before
    assert identity_of(rename_run(run, "two")) == before


def test_runs_of_earlier_versions_differ_by_creation_time(tmp_path: Path) -> None:
    identities = set()
    for number in range(2):
        run = write_run(tmp_path / "one", steps=3, windows=0)
        document = json.loads((run / RUN_FILE).read_text()) | {"created_ns": number + 1}
        del document["uid"], document["values_crc32"]
        (run / RUN_FILE).write_text(json.dumps(document))
        identities.add(identity_of(run))
        shutil.rmtree(run)
    assert len(identities) == 2


@pytest.mark.parametrize("text", [None, "{", '{"uid": ["no", "text"]}'])
def test_a_run_without_a_readable_run_file_has_an_identity_too(
    text: str | None, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "one", steps=3, windows=0, missing=("run.json",))
    if text is not None:
        (run / RUN_FILE).write_text(text)
    assert identity_of(run) is not None
    assert identity_of(run) == identity_of(run)


@pytest.mark.parametrize("make", ["nothing", "empty", "fifo"])
def test_a_folder_without_a_run_has_no_identity(make: str, tmp_path: Path) -> None:
    run = tmp_path / "one"
    if make != "nothing":
        run.mkdir()
    if make == "fifo":
        os.mkfifo(run / RUN_FILE)
    assert identity_of(run) is None
