"""The pages about a run of several workers: whose each number is, and who was lost."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strategy_app.widgets.run_list import COLUMNS
from strategy_profiles import load
from strategy_profiles.questions.run_memory import memory_over_run
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Exited, Failed, MemorySampled
from strategy_profiles.run.layout import LAUNCHER_EVENTS, worker_folder
from tests.app.looking import open_page, text_of
from tests.synthetic import HOSTILE, write_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "good", workers=3, replicas=3, steps=40, global_batch_size=240)
    lost = tmp_path / "lost"
    write_run(lost, workers=2, replicas=2, steps=40, leader_only=True, ending=None)
    launcher = EventLog(lost / LAUNCHER_EVENTS)
    EventLog(worker_folder(lost, 0).events).write(Failed("UnavailableError: gone", "", True))
    launcher.write(Exited(0, 0, 1, "failed", "Worker 0: UnavailableError: gone", 1, 10**9))
    launcher.write(Exited(1, 0, -9, "killed", f"Worker 1: {HOSTILE}", None, 9 * 10**8))
    return tmp_path


def test_the_overview_tells_the_loss_and_its_words_are_text(runs: Path) -> None:
    text = text_of(open_page("overview", runs, run="lost")).replace("\\", "")
    assert "1. Worker 1 was lost." in text
    assert "1. Worker 0 noticed 100 ms later by UnavailableError" in text
    assert "2 replicas of 2 workers" in text
    raw = text_of(open_page("overview", runs, run="lost"))
    assert "<script>" not in raw


def test_a_run_that_lost_no_process_shows_no_loss(runs: Path) -> None:
    text = text_of(open_page("overview", runs, run="good"))
    assert "was lost" not in text
    assert "3 replicas of 3 workers" in text


def test_the_list_of_runs_has_their_workers(runs: Path) -> None:
    at = open_page("runs", runs)
    table = at.dataframe[0].value
    assert list(table.columns) == list(COLUMNS)
    assert sorted(table["workers"]) == [2, 3]
    assert any("3 workers" in str(option) for option in at.selectbox("pick_run").options)


def test_memory_is_shown_by_process(runs: Path) -> None:
    for worker in range(3):
        log = EventLog(worker_folder(runs / "good", worker).events)
        log.write(MemorySampled("host", 0, 10 + worker, None, "process-resident"))
    _, table = memory_over_run(load(runs / "good")).parts
    names = {row[0] for row in table.rows}
    assert {f"worker {worker}" for worker in range(3)} <= names  # the process itself
    assert "worker 2 CPU:0" in names  # its device says whose it is


def test_the_table_of_collectives_says_whose_times_it_has(runs: Path) -> None:
    alone = "Wait, transfer and bandwidths are those of replica 0: "
    assert alone in text_of(open_page("communication", runs, run="lost")).replace("\\", "")
    assert alone not in text_of(open_page("communication", runs, run="good"))


def test_waits_are_shown_with_the_worker(runs: Path) -> None:
    text = text_of(open_page("communication", runs, run="good"))
    named = re.findall(r'<span class="name">([^<]+)', text)
    assert named == [f"worker {n} / replica {n}" for n in range(3)]
