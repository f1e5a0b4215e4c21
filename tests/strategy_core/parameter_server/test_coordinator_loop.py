"""The coordinator's loop: how far it schedules ahead, whose result counts, where it stops."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

from profiles.events import ClosureDone, VariablesServed
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.tf


class PretendCluster:
    """Closures that are done when the test says so, in any order."""

    def __init__(self) -> None:
        self.scheduled: list[PretendClosure] = []

    def schedule(self) -> PretendClosure:
        self.scheduled.append(PretendClosure(len(self.scheduled)))
        return self.scheduled[-1]


class PretendClosure:
    """What `ClusterCoordinator.schedule` gives, as far as the loop looks at it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._done = threading.Event()
        self._error: Exception | None = None

    def finish(self, error: Exception | None = None) -> None:
        self._error = error
        self._done.set()

    def fetch(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        assert self._done.wait(PATIENCE_S)
        if self._error is not None:
            raise self._error
        loss = np.float64(self.number).view(np.int64)
        return np.array([self.number % 2, 8, loss, 10, 20, -1, -1, 50], np.int64)


def loop_on(cluster: PretendCluster, stops: list[int]) -> Any:
    from strategy_core.parameter_server.loop import CoordinatorLoop

    feed: Any = None  # what a closure reads is not looked at here
    return CoordinatorLoop(
        cluster.schedule, 2, stops, lambda segment: VariablesServed(segment, [], []), feed
    )


def run_step(loop: Any, number: int) -> Any:
    from strategy_core.recorder.step import RecordedStep

    recorded = RecordedStep(number)
    loop.run_step(recorded)
    recorded.end()
    return recorded


def test_results_count_in_the_order_in_which_they_come() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])
    threading.Timer(0, lambda: finish_when_there(cluster, 2)).start()
    recorded = run_step(loop, 0)
    assert len(cluster.scheduled) == 4  # two for each worker
    assert (recorded.loss, recorded.examples) == (2.0, 8)
    closure, served = recorded.events
    assert isinstance(closure, ClosureDone)
    assert (closure.step, closure.worker) == (0, 1)  # worker 0 is process 1
    assert closure.marks_ns == [10, 20, None, None, 50]
    assert isinstance(served, VariablesServed)
    cluster.scheduled[0].finish()
    assert len(run_step(loop, 1).events) == 1  # what is served is told once
    assert len(cluster.scheduled) == 5
    loop.close()


def finish_when_there(cluster: PretendCluster, number: int) -> None:
    while len(cluster.scheduled) <= number:
        time.sleep(0)
    cluster.scheduled[number].finish()


def test_nothing_is_scheduled_across_a_planned_change_or_the_end() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [3, 5])
    threads = [threading.Timer(0, finish_when_there, (cluster, n)) for n in range(5)]
    for thread in threads:
        thread.start()
    counts = []
    for step in range(5):
        run_step(loop, step)
        counts.append(len(cluster.scheduled))
    assert counts == [3, 3, 3, 5, 5]
    loop.close()


def test_what_is_on_the_way_is_done_and_nothing_begun() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])
    for number in range(4):
        threading.Timer(0, finish_when_there, (cluster, number)).start()
    run_step(loop, 0)
    step = 1
    for _ in loop.on_the_way():
        run_step(loop, step)
        step += 1
    assert (step, loop.num_outstanding, len(cluster.scheduled)) == (4, 0, 4)
    assert list(loop.on_the_way()) == []
    loop.close()


def test_the_error_of_a_closure_is_raised_where_its_step_is_recorded() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [1])
    threading.Timer(0, lambda: [fail_when_there(cluster, ValueError("no such op"))]).start()
    with pytest.raises(ValueError, match="no such op"):
        run_step(loop, 0)
    loop.close()


def fail_when_there(cluster: PretendCluster, error: Exception) -> None:
    while not cluster.scheduled:
        time.sleep(0)
    cluster.scheduled[0].finish(error)
