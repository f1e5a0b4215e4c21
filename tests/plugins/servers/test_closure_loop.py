"""The coordinator's loop: how far it schedules ahead, whose result counts, where it stops."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from strategy_profiles.run.events import ClosureDone, VariablesServed

pytestmark = pytest.mark.tf

BEGIN_NS = 1_800_000_000_000_000_000


class PretendCluster:
    """Closures that are done when the test says so, in any order."""

    def __init__(self) -> None:
        self.scheduled: list[PretendClosure] = []
        self.slept_s: list[float] = []
        self.script: list[Callable[[], None]] = []
        """What happens while the loop sleeps, one after the other."""

    def schedule(self) -> PretendClosure:
        self.scheduled.append(PretendClosure(len(self.scheduled)))
        return self.scheduled[-1]

    def sleep(self, length_s: float) -> None:
        self.slept_s.append(length_s)
        assert len(self.slept_s) < 100, "the loop waits for what never comes"
        if self.script:
            self.script.pop(0)()

    def finish(self, *numbers: int) -> None:
        for index, number in enumerate(numbers):
            self.scheduled[number].finish(BEGIN_NS + 1_000_000 * (index + 1))


@dataclass
class PretendAnswer:
    """What `answer.Answer` is, as far as a step looks at it."""

    arrived_ns: int
    numbers: list[int]
    device: str


class PretendClosure:
    """What `ClusterCoordinator.schedule` gives, as far as the loop looks at it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._status_available_event = threading.Event()
        self._arrived_ns = 0
        self._error: Exception | None = None

    def finish(self, arrived_ns: int = BEGIN_NS, error: Exception | None = None) -> None:
        self._arrived_ns, self._error = arrived_ns, error
        self._status_available_event.set()

    def fetch(self) -> PretendAnswer:
        if self._error is not None:
            raise self._error
        loss = struct.unpack("<II", struct.pack("<d", -float(self.number)))
        device = f"/job:worker/replica:0/task:{self.number % 2}/device:CPU:0"
        return PretendAnswer(self._arrived_ns, [8, *loss, 10, 20, 0, 0, 50], device)


def loop_on(cluster: PretendCluster, stops: list[int]) -> Any:
    from strategy_servers.closure_loop import CoordinatorLoop

    feed: Any = None  # what a closure reads is not looked at here
    return CoordinatorLoop(
        cluster.schedule,
        2,
        stops,
        lambda segment: VariablesServed(segment, [], []),
        feed,
        sleep=cluster.sleep,
    )


def run_step(loop: Any, number: int) -> Any:
    from strategy_core.recorder.step import RecordedStep

    recorded = RecordedStep(number)
    loop.run_step(recorded)
    recorded.end()
    return recorded


def test_results_are_recorded_in_order_of_arrival() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])
    cluster.script = [lambda: None, lambda: cluster.finish(2, 0)]
    recorded = run_step(loop, 0)
    assert (recorded.loss, recorded.examples) == (-2.0, 8)
    closure, served = recorded.events
    assert isinstance(closure, ClosureDone)
    assert (closure.step, closure.worker) == (0, 1)  # worker 0 is process 1
    assert closure.marks_ns == (10, 20, None, None, 50)
    assert closure.finished_ns == BEGIN_NS + 1_000_000
    assert isinstance(served, VariablesServed)
    (closure,) = run_step(loop, 1).events  # the served variables are recorded once
    assert closure.finished_ns == BEGIN_NS + 2_000_000
    assert len(cluster.slept_s) == 2  # both were found at once


def test_a_step_lasts_from_one_result_to_the_next() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])
    cluster.script = [lambda: cluster.finish(0, 1, 2)]
    first, second, third = (run_step(loop, number) for number in range(3))
    assert first.events[0].scheduled_ns <= first.start_ns + 1_000_000
    assert (second.start_ns, third.start_ns) == (BEGIN_NS + 1_000_000, BEGIN_NS + 2_000_000)
    assert (second.wall_ms, third.wall_ms) == (1.0, 1.0)


def test_two_closures_per_worker_are_scheduled_and_more_if_they_are_short() -> None:
    from strategy_servers.closure_loop import MAX_AHEAD

    cluster = PretendCluster()
    loop = loop_on(cluster, [10_000])
    cluster.script = [lambda: cluster.finish(0)]
    run_step(loop, 0)
    assert 4 < len(cluster.scheduled) <= 7
    at = 1
    for _ in range(12):  # all that are ahead are done at every look
        there = len(cluster.scheduled)
        cluster.script = [lambda there=there, at=at: cluster.finish(*range(at, there))]  # type: ignore[misc]
        for number in range(at, there):
            run_step(loop, number)
        at = there
    assert loop.num_outstanding == MAX_AHEAD


def test_nothing_is_scheduled_across_a_planned_change_or_the_end() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [3, 5])
    counts = []
    for step in range(5):
        cluster.script = [lambda step=step: cluster.finish(step)]  # type: ignore[misc]
        run_step(loop, step)
        counts.append(len(cluster.scheduled))
    assert counts == [3, 3, 3, 5, 5]


def test_settling_finishes_scheduled_closures_and_schedules_no_more() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])
    cluster.script = [lambda: cluster.finish(0)]
    run_step(loop, 0)
    num_scheduled = len(cluster.scheduled)
    cluster.script = [lambda: cluster.finish(*range(1, num_scheduled))]
    step = 1
    for _ in loop.on_the_way():
        run_step(loop, step)
        step += 1
    assert (step, loop.num_outstanding) == (num_scheduled, 0)
    assert len(cluster.scheduled) == num_scheduled
    assert list(loop.on_the_way()) == []


def test_a_closures_error_is_raised_after_the_steps_before_it_are_recorded() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])

    def happen() -> None:
        cluster.finish(1)
        cluster.scheduled[0].finish(error=ValueError("no such op"))

    cluster.script = [happen]
    assert run_step(loop, 0).loss == -1.0
    with pytest.raises(ValueError, match="no such op"):
        run_step(loop, 1)


def test_finished_steps_are_recorded_even_if_scheduling_fails() -> None:
    cluster = PretendCluster()
    loop = loop_on(cluster, [100])

    def refuse() -> PretendClosure:
        raise ValueError("a closure before failed")

    def happen() -> None:
        cluster.finish(0, 1)
        loop._schedule = refuse

    cluster.script = [happen]
    assert [run_step(loop, number).loss for number in range(2)] == [0.0, -1.0]
    with pytest.raises(ValueError, match="a closure before failed"):
        run_step(loop, 2)
