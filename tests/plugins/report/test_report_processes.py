"""The report of a run of several processes: who was there, how each ended, what followed a loss."""

from __future__ import annotations

from pathlib import Path

import strategy_profiles
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import Exited, Failed, Launched
from strategy_profiles.run.layout import LAUNCHER_EVENTS, worker_folder
from strategy_report.export import report
from tests.synthetic import HOSTILE, write_run


def cluster(folder: Path, ending: str | None) -> Path:
    write_run(folder, workers=2, replicas=2, steps=40, leader_only=True, ending=ending)
    return folder


def test_a_run_of_one_process_has_no_such_section(tmp_path: Path) -> None:
    write_run(tmp_path / "run", steps=20)
    assert 'id="processes"' not in report(strategy_profiles.load(tmp_path / "run"))


def test_every_process_is_listed(tmp_path: Path) -> None:
    text = report(strategy_profiles.load(cluster(tmp_path / "run", "finished")))
    section = text.partition('<section id="processes"')[2].partition("</section>")[0]
    assert section.count("<tr>") == 3
    assert "worker 1" in section
    assert section.count("done") == 2
    assert "2 replicas of 2 workers" in text


def test_a_lost_process_is_shown_and_its_message_is_escaped(tmp_path: Path) -> None:
    run = cluster(tmp_path / "run", None)
    launcher = EventLog(run / LAUNCHER_EVENTS)
    launcher.write(Launched(1, 0, 7, 1, False, "worker 1", "127.0.0.1:4001"))
    EventLog(worker_folder(run, 0).events).write(Failed("UnavailableError: gone", "", True))
    launcher.write(Exited(0, 0, 1, "failed", "Worker 0: UnavailableError: gone", 1, 10**9))
    launcher.write(Exited(1, 0, -9, "killed", f"Worker 1: {HOSTILE}", None, 9 * 10**8))
    text = report(strategy_profiles.load(run))
    assert "After worker 1 was lost" in text
    assert "Worker 0 noticed 100 ms later by UnavailableError (its connection was gone)." in text
    assert "127.0.0.1:4001" in text
    assert "<script>alert" not in text
