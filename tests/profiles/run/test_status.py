"""What became of a run, from its events and from who is still alive."""

from __future__ import annotations

import os
import platform
import time
from typing import Any

import pytest

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.liveness import boot_id, process_started_ns
from strategy_profiles.run.status import ProcessName, Status, derive_status
from tests.event_records import source

NOW_NS = 1_000_000_000_000


def worker(*records: dict[str, Any], number: int = 0, generation: int = 0) -> EventSource:
    return source(number, generation, {"kind": "worker_started", "worker": number}, *records)


def launcher(*records: dict[str, Any]) -> EventSource:
    return source(None, None, *records)


def launched(number: int = 0, generation: int = 0, pid: int = 7) -> dict[str, Any]:
    return {
        "kind": "launched",
        "worker": number,
        "generation": generation,
        "pid": pid,
        "pid_started_ns": 3,
    }


def exited(verdict: str, number: int = 0, generation: int = 0) -> dict[str, Any]:
    return {
        "kind": "exited",
        "worker": number,
        "generation": generation,
        "verdict": verdict,
        "at_ns": NOW_NS,
    }


FINISHED = {"kind": "finished", "status": "finished", "steps": 3}
STOPPED = {"kind": "finished", "status": "stopped", "steps": 3}
FAILED = {"kind": "failed", "message": "loss is NaN"}


def state(*sources: EventSource, alive: bool = False) -> str:
    return derive_status(sources, alive=lambda _: alive, now_ns=lambda: NOW_NS).state


def test_a_run_is_what_its_last_worker_said() -> None:
    assert state(worker(FINISHED)) == "finished"
    assert state(worker(STOPPED)) == "stopped"
    assert state(worker(), worker(FINISHED, generation=1)) == "finished"
    assert state(worker(FINISHED), worker(generation=1)) == "incomplete"


def test_an_ending_counts_more_than_a_process_that_lingers() -> None:
    assert state(launcher(launched()), worker(FINISHED), alive=True) == "finished"
    assert state(launcher(launched()), worker(FINISHED, FAILED), alive=True) == "failed"


def test_a_run_that_did_not_obey_stop_says_why_it_was_ended() -> None:
    why = "No event for 21 s after Stop. Its last step was 4."
    ended = [launcher(launched(), exited("stopped") | {"message": why}), worker()]
    assert derive_status(ended, alive=lambda _: False) == Status("stopped", why)
    obeyed = [launcher(launched(), exited("stopped")), worker(STOPPED)]
    assert derive_status(obeyed, alive=lambda _: False) == Status("stopped")


@pytest.mark.parametrize("verdict", ["failed", "crashed", "killed", "hung", "out-of-memory"])
def test_a_bad_verdict_is_a_failure_with_its_message(verdict: str) -> None:
    run_status = derive_status(
        [launcher(launched(), exited(verdict)), worker()], alive=lambda _: False
    )
    assert run_status.state == "failed"
    assert run_status.message
    assert run_status.message.startswith("Worker 0 ")


def test_the_first_error_of_a_worker_is_why_a_program_without_launcher_failed() -> None:
    def failed(message: str, at_ns: int, *, follows: bool = False) -> dict[str, Any]:
        return {"kind": "failed", "message": message, "at_ns": at_ns, "follows": follows}

    def message(*ends: dict[str, Any]) -> str | None:
        sources = [worker(end, number=number) for number, end in enumerate(ends)]
        return derive_status(sources, alive=lambda _: False, now_ns=lambda: NOW_NS).message

    late, early = failed("late", 20), failed("early", 10)
    assert message(late, early) == "Worker 1: early"
    assert message(failed("its peer is gone", 5, follows=True), early) == "Worker 1: early"
    assert message(FINISHED, early) == message(STOPPED, early) == "Worker 1: early"
    assert message(FINISHED, failed("its peer is gone", 5, follows=True)) is None
    assert message(late, failed("StopIteration", 5)) == "Worker 0: late", "the others' data ends"
    assert message(failed("StopIteration", 5), FINISHED) == "Worker 0: StopIteration"


def test_one_failed_worker_of_many_is_a_failed_run() -> None:
    run_status = derive_status([worker(), worker(FAILED, number=1)], alive=lambda _: True)
    assert (run_status.state, run_status.message) == ("failed", "Worker 1: loss is NaN")


def test_a_worker_that_was_replaced_is_no_failure() -> None:
    both = launcher(launched(), exited("crashed"), launched(generation=1))
    assert state(both, worker(), worker(generation=1), alive=True) == "running"
    assert state(launcher(launched(), exited("replaced")), worker()) == "running"


def test_alive_is_running_and_dead_is_incomplete() -> None:
    assert state(launcher(launched()), worker(), alive=True) == "running"
    assert state(launcher(launched()), worker(), alive=False) == "incomplete"
    assert state(worker(), alive=True) == "running"
    assert state() == "incomplete"
    assert "not imported TensorFlow yet" in str(derive_status([]).message)


def test_a_run_that_its_lab_left_says_so() -> None:
    why = "The lab was stopped, and the run with it."
    both = [launcher(launched()), worker(STOPPED | {"why": why})]
    assert derive_status(both) == Status("stopped", why)
    cut = derive_status([launcher(launched()), worker()], alive=lambda _: False)
    assert "lab or command that had started it ended" in str(cut.message)
    assert "no process recorded the reason" in str(derive_status([worker()]).message)


def test_the_process_is_asked_for_with_what_tells_it_from_another() -> None:
    names: list[ProcessName] = []
    derive_status([launcher(launched()), worker()], alive=lambda p: bool(names.append(p)))
    derive_status([worker()], alive=lambda p: bool(names.append(p)))
    assert names == [ProcessName(7, 3, ahead_ns=5), ProcessName(7, None, 5)]


def of_this_process(*, set_s: float) -> tuple[EventSource, EventSource, EventSource]:
    """The events of a launcher and its worker, and of a program that records itself, which are all
    this process. Since then the wall clock was set forward by `set_s` seconds."""
    set_ns = round(set_s * 1e9)
    pid, started_ns = os.getpid(), (process_started_ns(os.getpid()) or 0) - set_ns
    joined = {
        "kind": "worker_started",
        "pid": pid,
        "realtime_ns": time.time_ns() - set_ns,
        "monotonic_ns": time.monotonic_ns(),
    }
    environment = {"kind": "environment", "host": {"name": platform.node(), "boot": boot_id()}}
    return (
        launcher(launched(pid=pid) | {"pid_started_ns": started_ns}),
        source(0, 0, joined),
        source(0, 0, joined, environment),
    )


@pytest.mark.parametrize("set_s", [0.0, 3600.0, -3600.0])
def test_a_run_goes_on_when_the_clock_of_the_machine_is_set(set_s: float) -> None:
    launchers, workers, programs = of_this_process(set_s=set_s)
    assert derive_status([launchers, workers]).state == "running"
    assert derive_status([programs]).state == "running"


def test_a_process_that_got_the_pid_of_an_earlier_one_is_not_that_one() -> None:
    pid, before_ns = os.getpid(), (process_started_ns(os.getpid()) or 0) - 60_000_000_000
    monotonic_ns = time.monotonic_ns() - (time.time_ns() - before_ns)
    joined = {
        "kind": "worker_started",
        "pid": pid,
        "realtime_ns": before_ns,
        "monotonic_ns": max(0, monotonic_ns),
    }
    launchers = launcher(launched(pid=pid) | {"pid_started_ns": before_ns})
    assert derive_status([launchers, source(0, 0, joined)]).state == "incomplete"
    assert derive_status([source(0, 0, joined)]).state == "incomplete"
    # Before a boot of the machine, at a time since boot at which this process ran already.
    environment = {"kind": "environment", "host": {"name": platform.node(), "boot": "earlier"}}
    joined |= {"monotonic_ns": time.monotonic_ns()}
    assert derive_status([source(0, 0, joined, environment)]).state == "incomplete"


def test_a_pid_of_another_machine_says_nothing_here() -> None:
    def environment(name: str) -> dict[str, Any]:
        return {"kind": "environment", "host": {"name": name}}

    assert state(worker(environment("elsewhere")), alive=True) == "incomplete"
    assert state(worker(environment(platform.node())), alive=True) == "running"


def test_a_restarted_run_has_not_failed_before_its_first_event() -> None:
    heard = {"kind": "failed", "message": "UnavailableError", "follows": True}
    before = (worker(heard), worker(number=1))
    lost = (exited("failed"), exited("killed", 1))
    assert state(launcher(launched(), launched(1), *lost), *before, alive=True) == "failed"
    again = launcher(launched(), launched(1), *lost, launched(0, 1), launched(1, 1))
    assert state(again, *before, alive=True) == "running"
    assert state(again, *before, alive=False) == "incomplete"
    assert state(again, *before, worker(FINISHED, generation=1)) == "finished"


def test_a_process_without_a_launcher_event_counts_by_its_own_words() -> None:
    """As when the launcher's file of one host was lost."""
    kept = launcher(launched(1))
    assert state(kept, worker(FINISHED), worker(number=1)) == "finished"
    assert state(kept, worker(FAILED), worker(number=1)) == "failed"
