"""How the coordinator drives its workers: closures scheduled ahead, results in the order they come.

A step of the run is a closure that is done. Workers do not wait for each other, so each takes as
many of them as it can. Only so many are scheduled ahead as keep the workers busy from one look to
the next: a stop or a change waits for those. Results are looked at together, every `LOOK_EVERY_S`:
what a thread woken for each of them costs, on the cores where the workers compute, is more than
what there is to do.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.step import RecordedStep
from strategy_core.training.parameter_server.closure import read_done
from strategy_core.training.parameter_server.result_encoding import Answer
from strategy_core.training.parameter_server.worker_input import Feed
from strategy_lab.profiles.run.events import ClosureDone, VariablesServed

AHEAD_PER_WORKER = 2
"""Closures per worker at least: one in flight, and one that waits for it to be done."""
MAX_AHEAD = 64
"""Closures that are scheduled ahead at most, however short they are."""
LOOK_EVERY_S = 0.04
"""So often results are looked at while the workers have enough to do."""
SOON_S = 0.004
"""The same where they run out of closures: what is waited for is the last of them."""


@dataclass(frozen=True, slots=True)
class _Result:
    scheduled_ns: int
    answer: Answer


class CoordinatorLoop:
    """Does one step per call: see `strategy_core.training.custom_loop.Loop`.

    Args:
      schedule: hands one more closure to the cluster; gives its remote value.
      num_workers: how many take closures.
      stops: steps that no closure is scheduled across: planned changes, and the run's end.
      served: what sits on which server, once the first closure is traced.
      feed: where the workers get their batches.
      first_worker: process number of the first worker.
      sleep: waits so many seconds.
    """

    def __init__(
        self,
        schedule: Callable[[], Any],
        num_workers: int,
        stops: Sequence[int],
        served: Callable[[int], VariablesServed],
        feed: Feed,
        *,
        first_worker: int = 1,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        self.feed = feed
        self._schedule = schedule
        self._least_ahead = self._num_ahead = AHEAD_PER_WORKER * num_workers
        self._stops = sorted(stops)
        self._served = served
        self._first_worker = first_worker
        self._sleep = sleep
        self._under_way: list[tuple[Any, int]] = []
        """Remote values, and when they were scheduled."""
        self._done: deque[_Result] = deque()
        self._error: Exception | None = None
        self._step_began_ns = 0
        self._looked_s = time.monotonic()
        self._is_holding = False
        self._is_told = False

    @property
    def num_outstanding(self) -> int:
        """Closures that are scheduled and not recorded yet."""
        return len(self._under_way) + len(self._done)

    def run_step(self, recorded: RecordedStep) -> int:
        if not self._done:
            self._await_results(recorded.number)
        result = self._done.popleft()
        arrived_ns, done = result.answer.arrived_ns, read_done(result.answer)
        recorded.result(loss=done.loss, examples=done.examples)
        recorded.lasted(self._step_began_ns, (arrived_ns - self._step_began_ns) / 1e6)
        self._step_began_ns = arrived_ns
        recorded.tell(
            ClosureDone(
                segment=recorded.segment,
                step=recorded.number,
                worker=self._first_worker + done.worker,
                scheduled_ns=result.scheduled_ns,
                marks_ns=done.marks_ns,
                finished_ns=arrived_ns,
            )
        )
        if not self._is_told:
            self._is_told = True
            recorded.tell(self._served(recorded.segment))
        return done.examples

    def on_the_way(self) -> Iterator[None]:
        """One turn for each step that is on its way: none is scheduled meanwhile."""
        self._is_holding = True
        try:
            while self.num_outstanding:
                yield
        finally:
            self._is_holding = False

    def close(self) -> None:
        """Nothing is held but what the coordinator holds."""

    def _await_results(self, step: int) -> None:
        """Wait for one at least; the workers have closures for longer than the next look takes."""
        self._schedule_ahead(step)
        while not self._done:
            if self._error is not None:
                raise self._error
            is_busy = len(self._under_way) >= self._num_ahead
            due_s = self._looked_s + (LOOK_EVERY_S if is_busy else SOON_S)
            self._sleep(max(due_s - time.monotonic(), 0.0))
            self._look()
        self._schedule_ahead(step)

    def _schedule_ahead(self, step: int) -> None:
        stop = next((stop for stop in self._stops if stop > step), step)
        while (
            not self._is_holding
            and self._error is None
            and len(self._under_way) < self._num_ahead
            and self.num_outstanding < stop - step
        ):
            scheduled_ns = time.time_ns()
            if not self.num_outstanding:
                self._step_began_ns = scheduled_ns
            try:
                self._under_way.append((self._schedule(), scheduled_ns))
            except Exception as error:  # a closure before may have failed: see `_look`
                self._error = error

    def _look(self) -> None:
        """Take the results that are there, in the order in which they came."""
        found: list[_Result] = []
        still: list[tuple[Any, int]] = []
        for value, scheduled_ns in self._under_way:
            if not private_tf.is_there(value):
                still.append((value, scheduled_ns))
                continue
            try:
                found.append(_Result(scheduled_ns, value.fetch()))
            except Exception as error:  # raised once the steps before it are recorded
                self._error = error
        self._under_way = still
        self._done.extend(sorted(found, key=lambda result: result.answer.arrived_ns))
        self._adapt(len(found))

    def _adapt(self, num_done: int) -> None:
        """Schedule so far ahead as the workers' pace asks for, with half of it to spare."""
        now_s = time.monotonic()
        elapsed_s, self._looked_s = max(now_s - self._looked_s, 1e-6), now_s
        at_next_look = num_done * LOOK_EVERY_S / max(elapsed_s, LOOK_EVERY_S)
        wanted = self._least_ahead + math.ceil(1.5 * at_next_look)
        self._num_ahead = min(wanted, max(MAX_AHEAD, self._least_ahead))
