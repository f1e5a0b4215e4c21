"""How the coordinator drives its workers: it schedules closures ahead and collects their results.

A step of the run is a finished closure. Workers do not wait for each other, so a faster worker does
more of them. The loop schedules only as many closures ahead as keep the workers busy until the next
look, because a stop or a change has to wait for those. It collects results together every
`LOOK_EVERY_S`. Waking a thread for each result would cost more, on the cores where the workers
compute, than the work to be done.
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
from strategy_profiles.run.events import ClosureDone, VariablesServed
from strategy_servers.closure import read_done
from strategy_servers.result_encoding import Answer
from strategy_servers.worker_input import WorkerInput

AHEAD_PER_WORKER = 2
"""Fewest closures per worker: one that runs and one that waits for it."""
MAX_AHEAD = 64
"""Most closures scheduled ahead, however short they are."""
LOOK_EVERY_S = 0.04
"""Interval between two looks at the results while the workers have enough closures."""
SOON_S = 0.004
"""Interval while they run out of closures, and the next look is for the last of them."""


@dataclass(frozen=True, slots=True)
class _Result:
    scheduled_ns: int
    answer: Answer


class CoordinatorLoop:
    """Runs one step at a time: see `strategy_core.training.custom_loop.Loop`.

    Args:
      schedule: schedules one more closure; returns its remote value.
      num_workers: number of workers that take closures.
      stops: steps that no closure is scheduled across: planned changes, and the run's end.
      served: returns the variables of each server, once the first closure is traced.
      feed: the source of the workers' batches.
      sleep: waits for a number of seconds.
    """

    def __init__(
        self,
        schedule: Callable[[], Any],
        num_workers: int,
        stops: Sequence[int],
        served: Callable[[int], VariablesServed],
        feed: WorkerInput,
        *,
        sleep: Callable[[float], Any] = time.sleep,
    ) -> None:
        self.feed = feed
        self._schedule = schedule
        self._least_ahead = self._num_ahead = AHEAD_PER_WORKER * num_workers
        self._stops = sorted(stops)
        self._served = served
        self._sleep = sleep
        self._under_way: list[tuple[Any, int]] = []
        """Remote values, and when each was scheduled."""
        self._done: deque[_Result] = deque()
        self._error: Exception | None = None
        self._step_began_ns = 0
        self._looked_s = time.monotonic()
        self._is_holding = False
        self._is_served_recorded = False

    @property
    def num_outstanding(self) -> int:
        """Number of closures that are scheduled but not recorded yet."""
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
                worker=1 + done.worker,  # process 0 is the coordinator
                scheduled_ns=result.scheduled_ns,
                marks_ns=done.marks_ns,
                finished_ns=arrived_ns,
            )
        )
        if not self._is_served_recorded:
            self._is_served_recorded = True
            recorded.tell(self._served(recorded.segment))
        return done.examples

    def on_the_way(self) -> Iterator[None]:
        """Yield once per outstanding step; no new closure is scheduled meanwhile."""
        self._is_holding = True
        try:
            while self.num_outstanding:
                yield
        finally:
            self._is_holding = False

    def close(self) -> None:
        """Does nothing: the coordinator owns all resources."""

    def _await_results(self, step: int) -> None:
        """Wait for at least one result, while the workers have enough closures until the next
        look."""
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
            except Exception as error:  # an earlier closure may have failed: see `_look`
                self._error = error

    def _look(self) -> None:
        """Collect the available results in the order in which they arrived."""
        results: list[_Result] = []
        still: list[tuple[Any, int]] = []
        for value, scheduled_ns in self._under_way:
            if not private_tf.is_there(value):
                still.append((value, scheduled_ns))
                continue
            try:
                results.append(_Result(scheduled_ns, value.fetch()))
            except Exception as error:  # raised once the steps before it are recorded
                self._error = error
        self._under_way = still
        self._done.extend(sorted(results, key=lambda result: result.answer.arrived_ns))
        self._adapt(len(results))

    def _adapt(self, num_done: int) -> None:
        """Schedule as far ahead as the workers' pace requires until the next look, plus half of
        it."""
        now_s = time.monotonic()
        elapsed_s, self._looked_s = max(now_s - self._looked_s, 1e-6), now_s
        at_next_look = num_done * LOOK_EVERY_S / max(elapsed_s, LOOK_EVERY_S)
        wanted = self._least_ahead + math.ceil(1.5 * at_next_look)
        self._num_ahead = min(wanted, max(MAX_AHEAD, self._least_ahead))
