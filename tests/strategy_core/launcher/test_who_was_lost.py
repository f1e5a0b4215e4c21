"""Who is named when several end: losses are told in the order and at the times that a test says."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strategy_core.cluster.tasks import cluster_of
from strategy_core.launcher.process_group import EVIDENCE_S, EXITING_S, ROOT_CAUSE_S, ProcessGroup
from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_lab.profiles.run.layout import worker_folder
from strategy_lab.profiles.spec.run_spec import parse_spec

SPECS = {
    "parameter-server": {"strategy": "parameter-server", "workers": 2, "parameter_servers": 1},
    "multi-worker-mirrored": {"strategy": "multi-worker-mirrored", "workers": 4},
}
FOLLOWS = {"failed": {"message": "UnavailableError: connection refused", "follows": True}}
OWN = {"failed": {"message": "ValueError: NaN", "follows": False}}
GONE = {"gone": True}


@dataclass
class StoodIn:
    """A process that is dead when the test, or its launcher, says so."""

    pid: int = 1
    doing: str = "sleeping"
    exit_code: int | None = None
    peak_bytes: int | None = None
    ready: dict[str, Any] | None = None

    def state(self) -> str:
        return self.doing

    def poll(self) -> int | None:
        return self.exit_code

    def said(self, _log: Path | None = None) -> str:
        return ""

    def kill(self) -> None:
        self.ends(-signal.SIGKILL)

    def ends(self, exit_code: int) -> None:
        self.doing = "zombie"
        self.exit_code = exit_code if self.exit_code is None else self.exit_code


class Watched:
    """A group of four, and what is heard of it."""

    def __init__(self, strategy: str, folder: Path) -> None:
        spec = parse_spec({**SPECS[strategy], "global_batch_size": 64})
        self.processes = [StoodIn() for _ in range(4)]
        workers: list[Any] = [
            WorkerMonitor(process, worker_folder(folder, number), False, 0.0)  # type: ignore[arg-type]
            for number, process in enumerate(self.processes)
        ]
        cluster = cluster_of(spec, [f"127.0.0.1:{port}" for port in range(2222, 2226)])
        self.group = ProcessGroup(workers, cluster)

    def hear(self, number: int, now: float, *messages: dict[str, Any]) -> None:
        for message in messages:
            self.group.take_message(self.group.workers[number], message, now)

    def look(self, now: float) -> bool:
        """Whether the group has been ended by then."""
        self.group.end_if_lost(now)
        return self.group.was_killed

    def message(self) -> str:
        """What the run says in the end."""
        for number, worker in enumerate(self.group.workers):
            self.processes[number].ends(0)
            if not worker.is_gone:
                self.hear(number, 100.0, GONE)
        return str(self.group.exit_reason(self.group.root_cause()).message)


@pytest.fixture
def synchronous(tmp_path: Path) -> Watched:
    return Watched("multi-worker-mirrored", tmp_path)


@pytest.fixture
def served(tmp_path: Path) -> Watched:
    return Watched("parameter-server", tmp_path)


def test_whose_own_fault_it_is_is_named_a_moment_later(synchronous: Watched) -> None:
    synchronous.hear(2, 10.0, OWN)
    synchronous.hear(0, 10.1, FOLLOWS)
    assert not synchronous.look(10.0 + EVIDENCE_S)
    assert synchronous.look(10.1 + EVIDENCE_S)
    assert synchronous.message() == "Worker 2: ValueError: NaN"


def test_one_that_says_nothing_while_all_others_fail_is_named_within_five_seconds(
    synchronous: Watched,
) -> None:
    for number in (0, 2, 3):
        synchronous.hear(number, 10.0, FOLLOWS)
    assert not synchronous.look(10.0 + ROOT_CAUSE_S)
    assert synchronous.look(10.1 + ROOT_CAUSE_S)
    assert 0.1 + ROOT_CAUSE_S < 5
    assert synchronous.message().startswith("Worker 1: It did not take part while its peers waited")


def test_whoever_is_still_ending_is_waited_for_and_named(synchronous: Watched) -> None:
    """Its peers hear at once that it is gone; its launcher, on a busy machine, seconds later."""
    synchronous.processes[1].ends(-signal.SIGKILL)
    for number in (0, 2):
        synchronous.hear(number, 10.0, FOLLOWS)
    assert not synchronous.look(9.0 + EXITING_S)
    synchronous.hear(1, 9.5 + EXITING_S, GONE)
    assert synchronous.look(9.6 + EXITING_S)
    assert synchronous.message().startswith("Worker 1: Something outside the lab killed the worker")


def test_one_that_never_quite_ends_is_named_too(synchronous: Watched) -> None:
    synchronous.processes[3].ends(-signal.SIGSEGV)
    synchronous.hear(0, 10.0, FOLLOWS)
    assert synchronous.look(10.1 + EXITING_S)
    assert synchronous.message().startswith("Worker 3: The worker crashed with SIGSEGV")


def test_a_lost_server_is_named_though_its_coordinator_speaks_first(served: Watched) -> None:
    served.hear(0, 10.0, FOLLOWS)
    served.processes[3].ends(-signal.SIGKILL)
    assert not served.look(10.1 + ROOT_CAUSE_S)
    served.hear(3, 15.0, GONE)
    assert served.look(15.1)
    assert served.message().startswith("Parameter server 0: Something outside the lab")


def test_nobody_who_serves_is_blamed_for_saying_nothing(served: Watched) -> None:
    """Only the coordinator does steps: where it alone fails, its own words are the cause."""
    served.hear(0, 10.0, FOLLOWS)
    assert served.look(10.1 + ROOT_CAUSE_S)
    assert served.message() == "Coordinator: UnavailableError: connection refused"
