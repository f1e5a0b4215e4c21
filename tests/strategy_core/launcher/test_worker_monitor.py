"""When a worker counts as hung; each test sets time, processor time and events."""

from __future__ import annotations

from pathlib import Path

import pytest

from strategy_core.launcher.worker_monitor import CLOSING_S, WorkerMonitor
from strategy_profiles.run.layout import worker_folder
from tests.strategy_core.launcher.fake_group import FakeProcess, happens

TIMEOUT_S = 10.0


@pytest.fixture
def process() -> FakeProcess:
    return FakeProcess()


@pytest.fixture
def worker(process: FakeProcess, tmp_path: Path) -> WorkerMonitor:
    folder = worker_folder(tmp_path, 0)
    return WorkerMonitor(process, folder, from_spare=True, last_sign=0.0)  # type: ignore[arg-type]


def test_silence_is_a_hang(worker: WorkerMonitor) -> None:
    happens(worker, 5.0, kind="step", step=0)
    assert worker.why_hung(14.9, TIMEOUT_S) is None
    assert worker.why_hung(15.1, TIMEOUT_S) == "No event for 10 s; its process is waiting."


@pytest.mark.parametrize(("device", "limit_s"), [("CPU", 10.0), ("GPU", 100.0)])
def test_the_first_step_on_gpus_may_be_silent_for_longer(
    worker: WorkerMonitor, device: str, limit_s: float
) -> None:
    name = f"/job:localhost/replica:0/task:0/device:{device}:0"
    happens(worker, 0.0, kind="segment", replica_devices=[name])
    assert worker.why_hung(limit_s - 0.1, TIMEOUT_S) is None
    assert worker.why_hung(limit_s + 0.1, TIMEOUT_S) is not None
    happens(worker, 200.0, kind="step", step=0)
    assert worker.why_hung(210.1, TIMEOUT_S) == "No event for 10 s; its process is waiting."


def test_any_event_is_a_sign_of_life(worker: WorkerMonitor) -> None:
    happens(worker, 5.0, kind="step", step=0)
    happens(worker, 14.0, kind="note")
    assert worker.why_hung(23.0, TIMEOUT_S) is None


def test_a_worker_that_converts_its_last_captures_on_a_busy_machine_is_not_hung(
    worker: WorkerMonitor,
) -> None:
    happens(worker, 0.0, kind="segment", spec={"steps": 2})
    happens(worker, 4.0, kind="step", step=0)
    assert worker.why_hung(14.1, TIMEOUT_S) is not None
    happens(worker, 5.0, kind="step", step=1)
    assert worker.why_hung(14.9 + CLOSING_S, TIMEOUT_S) is None
    assert worker.why_hung(15.1 + CLOSING_S, TIMEOUT_S) is not None


def test_a_busy_worker_that_does_no_step_is_hung(
    worker: WorkerMonitor, process: FakeProcess
) -> None:
    happens(worker, 0.0, kind="step", step=0)
    process.doing = "running"
    for now in range(10):
        process.cpu_s = float(now)
        assert worker.why_hung(float(now), TIMEOUT_S) is None
    assert worker.why_hung(10.5, TIMEOUT_S) == "No event for 10 s; its process is computing."


def test_while_a_step_is_built_computing_is_a_sign_of_life_for_a_while(
    worker: WorkerMonitor, process: FakeProcess
) -> None:
    happens(worker, 0.0, kind="segment", spec={})
    for now in range(1, 101):
        process.cpu_s = float(now)
        assert worker.why_hung(float(now), TIMEOUT_S) is None
    process.cpu_s = 101.0
    assert worker.why_hung(101.0, TIMEOUT_S) == (
        "No step for 101 s, though its process is computing."
    )


def test_building_a_step_does_not_count_as_waiting(worker: WorkerMonitor) -> None:
    happens(worker, 0.0, kind="segment", spec={})
    for now in range(1, 11):
        assert worker.why_hung(float(now), TIMEOUT_S) is None
    assert worker.why_hung(10.5, TIMEOUT_S) is not None


def test_a_stop_has_a_limit_and_converting_the_last_captures_a_longer_one(
    worker: WorkerMonitor,
) -> None:
    happens(worker, 5.0, kind="step", step=0)
    assert worker.why_late(now=19.0, stop_by=20.0, grace_s=15.0) is None
    assert (
        worker.why_late(now=21.0, stop_by=20.0, grace_s=15.0)
        == "A stop was requested, but no step ended within 15 s."
    )
    happens(worker, 21.0, kind="answer", number=1, command="reconfigure", status="applied")
    assert worker.why_late(now=22.0, stop_by=20.0, grace_s=15.0) is not None
    happens(worker, 22.0, kind="answer", number=1, command="stop", status="applied")
    assert worker.why_late(now=22.0, stop_by=20.0, grace_s=15.0) is None
    assert worker.why_hung(21.5 + CLOSING_S, TIMEOUT_S) is None
    late = worker.why_late(now=20.5 + CLOSING_S, stop_by=20.0, grace_s=15.0)
    assert late == "The run stopped, but its record was not complete within 120 s."


def test_a_worker_that_has_finished_has_no_more_time_to_leave(worker: WorkerMonitor) -> None:
    happens(worker, 5.0, kind="answer", number=1, command="stop", status="applied")
    happens(worker, 6.0, kind="finished", status="stopped")
    assert worker.why_late(now=21.0, stop_by=20.0, grace_s=15.0) is not None


def test_a_stop_that_was_not_obeyed_says_whether_steps_went_on(worker: WorkerMonitor) -> None:
    happens(worker, 1.0, kind="step", step=7)
    worker.step_at_stop = worker.step
    assert worker.why_late(now=21.1, stop_by=21.0, grace_s=20.0) == (
        "A stop was requested, but no step ended within 20 s."
    )
    for step in (8, 9, 10):
        happens(worker, 5.0, kind="step", step=step)
    assert worker.why_late(now=21.1, stop_by=21.0, grace_s=20.0) == (
        "A stop was requested at step 7, but 3 more steps were done within 20 s."
    )
