"""Which process is named when several end; each test sets the order and the times of the losses."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from strategy_core.launcher.launch_log import LaunchLog
from strategy_core.launcher.process_group import EVIDENCE_S, EXITING_S, ROOT_CAUSE_S
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.process_history import first_loss, read_processes
from tests.strategy_core.launcher.fake_group import FakeGroup

FOLLOWS = {"failed": {"message": "UnavailableError: connection refused", "follows": True}}
OWN = {"failed": {"message": "ValueError: NaN", "follows": False}}
GONE = {"gone": True}


class FourProcesses(FakeGroup):
    """A group of four processes."""

    def was_ended(self, now: float) -> bool:
        """Check the group; returns whether its launcher has ended it."""
        self.group.end_if_lost(now)
        return self.group.was_killed

    def message(self) -> str:
        """The message of the run's end; a reader of its events names the same process."""
        for number, worker in enumerate(self.group.workers):
            self.processes[number].ends(0)
            if not worker.is_gone:
                self.says(number, 100.0, GONE)
        cause = self.group.root_cause()
        LaunchLog(self.folder).exited(self.group)
        lost = first_loss(read_processes(read_sources(self.folder)).current())
        assert lost is not None
        assert lost.worker == cause.folder.worker
        return str(self.group.exit_reason(cause).message)


@pytest.fixture
def synchronous(tmp_path: Path) -> FourProcesses:
    return FourProcesses("multi-worker-mirrored", tmp_path)


@pytest.fixture
def served(tmp_path: Path) -> FourProcesses:
    return FourProcesses("parameter-server", tmp_path)


def test_the_process_with_an_error_of_its_own_is_named_a_moment_later(
    synchronous: FourProcesses,
) -> None:
    synchronous.says(2, 10.0, OWN)
    synchronous.says(0, 10.1, FOLLOWS)
    assert not synchronous.was_ended(10.0 + EVIDENCE_S)
    assert synchronous.was_ended(10.1 + EVIDENCE_S)
    assert synchronous.message() == "Worker 2: ValueError: NaN"


def test_a_process_that_is_silent_while_all_others_fail_is_named_within_five_seconds(
    synchronous: FourProcesses,
) -> None:
    for number in (0, 2, 3):
        synchronous.says(number, 10.0, FOLLOWS)
    assert not synchronous.was_ended(10.0 + ROOT_CAUSE_S)
    assert synchronous.was_ended(10.1 + ROOT_CAUSE_S)
    assert 0.1 + ROOT_CAUSE_S < 5
    assert synchronous.message().startswith("Worker 1: It did not take part while its peers waited")


def test_a_process_that_is_still_exiting_is_waited_for_and_named(
    synchronous: FourProcesses,
) -> None:
    """Its peers notice its end at once; its launcher, on a busy machine, seconds later."""
    synchronous.processes[1].ends(-signal.SIGKILL)
    for number in (0, 2):
        synchronous.says(number, 10.0, FOLLOWS)
    assert not synchronous.was_ended(9.0 + EXITING_S)
    synchronous.says(1, 9.5 + EXITING_S, GONE)
    assert synchronous.was_ended(9.6 + EXITING_S)
    assert synchronous.message().startswith("Worker 1: Something outside the lab killed the worker")


def test_a_process_that_exits_for_too_long_is_named(synchronous: FourProcesses) -> None:
    synchronous.processes[3].ends(-signal.SIGSEGV)
    synchronous.says(0, 10.0, FOLLOWS)
    assert synchronous.was_ended(10.1 + EXITING_S)
    assert synchronous.message().startswith("Worker 3: The worker crashed with SIGSEGV")


def test_a_lost_server_is_named_though_its_coordinator_speaks_first(served: FourProcesses) -> None:
    served.says(0, 10.0, FOLLOWS)
    served.processes[3].ends(-signal.SIGKILL)
    assert not served.was_ended(10.1 + ROOT_CAUSE_S)
    served.says(3, 15.0, GONE)
    assert served.was_ended(15.1)
    assert served.message().startswith("Parameter server 0: Something outside the lab")


def test_a_server_that_says_nothing_is_not_the_root_cause(served: FourProcesses) -> None:
    """Only the coordinator does steps: where it alone fails, its own words are the cause."""
    served.says(0, 10.0, FOLLOWS)
    assert served.was_ended(10.1 + ROOT_CAUSE_S)
    assert served.message() == "Coordinator: UnavailableError: connection refused"
