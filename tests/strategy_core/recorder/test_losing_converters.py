"""What the loss of converter processes costs, with pretended processes and a clock of one's own."""

from __future__ import annotations

import os
import signal
from typing import Any

import psutil
import pytest

from strategy_core.recorder.converter import MOST_RESTARTS, Converter
from strategy_core.recorder.helper_process import _LOWEST_PRIORITY, HelperProcess
from strategy_profiles.capture.helper import Job
from tests.timeouts import wait_until


class PretendedProcess(HelperProcess):
    """Answers every job at once, until it is lost."""

    def __init__(self) -> None:
        self.jobs: list[Job] = []
        self.lost: str | None = None
        self.has_ended = False

    def is_alive(self) -> bool:
        return self.lost is None

    def send(self, job: Job) -> None:
        self.jobs.append(job)

    def read(self) -> list[dict[str, Any]]:
        if self.lost is not None:
            return []
        jobs, self.jobs = self.jobs, []
        return [{"number": job.number, "error": None} for job in jobs]

    def why_lost(self, _now_s: float) -> str | None:
        return self.lost

    def end(self) -> None:
        self.has_ended = True


def _job(number: int) -> Job:
    return Job(number, "x.pb", None, "window", 0, 0, [])


def _converter(started: list[PretendedProcess]) -> Converter:
    def start() -> HelperProcess:
        started.append(PretendedProcess())
        return started[-1]

    return Converter(now_s=lambda: 0.0, start=start)


def test_a_lost_process_costs_one_job_and_a_new_process_does_the_others() -> None:
    started: list[PretendedProcess] = []
    converter = _converter(started)
    converter.submit(_job(0))
    converter.submit(_job(1))
    started[0].lost = "was killed by SIGKILL"
    (lost,) = converter.answers()
    assert lost["number"] == 0
    assert "was killed by SIGKILL" in lost["error"]
    assert started[0].has_ended
    assert converter.answers() == [{"number": 1, "error": None}]
    assert len(started) == 2


def test_a_bounded_number_of_processes_is_started_then_every_job_is_refused() -> None:
    started: list[PretendedProcess] = []
    converter = _converter(started)
    for number in range(MOST_RESTARTS + 1):
        assert not converter.is_given_up
        converter.submit(_job(number))
        started[-1].lost = "was killed by SIGKILL"
        assert converter.answers()[0]["error"] is not None
    assert converter.is_given_up
    converter.submit(_job(99))
    (refused,) = converter.answers()
    assert refused["number"] == 99
    assert "The process that converts captures is gone" in refused["error"]
    assert len(started) == MOST_RESTARTS + 1
    assert converter.take_notes()[-1].endswith("this run captures no more windows.")
    assert converter.take_notes() == []


def test_a_process_that_cannot_be_started_costs_captures_only() -> None:
    def start() -> HelperProcess:
        raise OSError(12, "Cannot allocate memory")

    converter = Converter(now_s=lambda: 0.0, start=start)
    converter.submit(_job(0))
    (refused,) = converter.answers()
    assert refused["error"] is not None
    assert converter.is_given_up
    assert "cannot be started (Cannot allocate memory)" in converter.take_notes()[0]


@pytest.mark.run
def test_only_a_process_that_stays_stopped_is_given_up() -> None:
    """The training may have been stopped with it: a single look says nothing."""
    process = HelperProcess()
    try:
        assert process.why_lost(0.0) is None
        process._popen.send_signal(signal.SIGSTOP)
        system = psutil.Process(process._popen.pid)
        wait_until(lambda: system.status() == psutil.STATUS_STOPPED)
        assert process.why_lost(100.0) is None
        assert process.why_lost(101.0) is None
        assert process.why_lost(104.0) == "was stopped (SIGSTOP)"
    finally:
        process.end()
    assert process.why_lost(105.0) == "was killed by SIGKILL"


@pytest.mark.slow
@pytest.mark.parametrize("is_importing", [True, False], ids=["while it imports", "later"])
def test_the_end_of_training_raises_the_priority_of_each_thread_of_a_helper(
    is_importing: bool,
) -> None:
    helper = HelperProcess()
    pid = helper._popen.pid
    try:
        if is_importing:
            helper.raise_priority()
        helper.send(_job(0))
        wait_until(lambda: bool(helper.read()))
        if not is_importing:
            helper.raise_priority()
        own = os.getpriority(os.PRIO_PROCESS, 0)
        # Only root raises a priority, and CI may run as another user and skips no test.
        expected = own if os.geteuid() == 0 else _LOWEST_PRIORITY
        threads = [thread.id for thread in psutil.Process(pid).threads()]
        assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {expected}
    finally:
        helper.end()
