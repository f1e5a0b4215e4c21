"""The Lab page for a run whose hosts each have a launcher: watched, and changed by its folder."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from strategy_profiles.run.command_mailbox import LeftCommand, read_commands
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import CommandAnswered, Launched, SegmentOpened
from strategy_profiles.run.layout import launcher_file, worker_folder
from strategy_profiles.run.manifest import create_run_file
from strategy_profiles.spec.run_spec import RunSpec
from tests.app.looking import open_page, rerun
from tests.app.pages.test_lab_page import PretendedLauncher, errors, press

SPEC = RunSpec(strategy="multi-worker-mirrored", workers=2, global_batch_size=64, steps=100)
NAME = "over-hosts"


@pytest.fixture
def launcher() -> PretendedLauncher:
    return PretendedLauncher()


@pytest.fixture
def run(lab: Path) -> Path:
    """A run that goes on: its processes wrote something a moment ago, on hosts elsewhere."""
    folder = lab / NAME
    create_run_file(folder, SPEC.to_json(), cluster={"run_id": "x", "tasks": []})
    for worker in range(2):
        log = EventLog(launcher_file(folder, worker))
        names_of_worker = f"worker {worker}", f"10.0.0.{worker}:2222", f"node-{worker}"
        log.write(Launched(worker, 0, 4_000_000 + worker, 0, False, *names_of_worker))
        EventLog(worker_folder(folder, worker).events).write(segment())
    return folder


def segment() -> SegmentOpened:
    return SegmentOpened(
        segment=0,
        strategy=SPEC.strategy,
        num_replicas=2,
        num_workers=2,
        global_batch_size=64,
        first_step=0,
        started_ns=0,
        replica_devices=["/job:worker/replica:0/task:0/device:CPU:0"] * 2,
        cross_device_ops="ring",
        spec=SPEC.to_json(),
    )


def open_run(lab: Path) -> AppTest:
    return open_page("lab", lab, run=NAME)


def test_it_offers_what_its_processes_can_change_and_leaves_it_in_the_folder(
    lab: Path, run: Path
) -> None:
    at = open_run(lab)
    assert not at.exception
    assert [item.label for item in at.selectbox] == []
    (batch,) = at.number_input
    assert batch.label == "Global batch size"
    batch.set_value(128)
    press(at, "Apply")
    assert not errors(at)
    assert read_commands(run) == [LeftCommand(1, "reconfigure", {"global_batch_size": 128})]
    assert "not yet applied" in said(at)
    EventLog(worker_folder(run, 0).events).write(
        CommandAnswered(1, "reconfigure", "rejected", 7, "No host can.")
    )
    at = rerun(at)
    assert "No host can" in errors(at)
    press(at, "Stop")
    assert read_commands(run, after=1) == [LeftCommand(2, "stop")]


def test_a_folder_without_the_first_worker_is_watched_only(lab: Path, run: Path) -> None:
    launcher_file(run).unlink()
    at = open_run(lab)
    assert not at.exception
    assert "Watching only" in said(at)
    assert [button.label for button in at.button] == ["New run"]


def said(at: AppTest) -> str:
    return "\n".join(item.value for item in at.markdown)
