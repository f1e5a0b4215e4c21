"""How the coordinator drives its workers: closures scheduled ahead, results in the order they come.

A step of the run is a closure that is done. Workers do not wait for each other, so each takes as
many of them as it can. Only a few are scheduled ahead: a stop or a change waits for those.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from profiles.events import ClosureDone, VariablesServed
from strategy_core.parameter_server.feed import Feed
from strategy_core.parameter_server.fetching import fetch
from strategy_core.parameter_server.step import read_done
from strategy_core.recorder.step import RecordedStep

AHEAD_PER_WORKER = 2
"""Closures per worker: one in flight, and one that waits for it to be done."""


@dataclass(frozen=True, slots=True)
class _Result:
    scheduled_ns: int
    finished_ns: int
    packed: Any
    error: BaseException | None = None


class CoordinatorLoop:
    """Does one step at a time, for whoever holds it: see `strategy_core.loops.Loop`.

    Args:
      schedule: hands one more closure to the cluster; gives its remote value.
      num_workers: how many take closures.
      stops: steps that no closure is scheduled across: planned changes, and the run's end.
      served: what sits on which server, once the first closure is traced.
      feed: where the workers get their batches.
      first_worker: process number of the first worker.
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
    ) -> None:
        self.num_outstanding = 0
        """Closures that are scheduled and not recorded yet."""
        self.feed = feed
        self._schedule = schedule
        self._num_ahead = AHEAD_PER_WORKER * num_workers
        self._stops = sorted(stops)
        self._served = served
        self._first_worker = first_worker
        self._results: queue.SimpleQueue[_Result] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._sent: queue.SimpleQueue[tuple[Any, int] | None] = queue.SimpleQueue()
        # Threads of its own: an executor's bookkeeping costs a short step more than its result.
        for _ in range(self._num_ahead):
            threading.Thread(target=self._await_each, name="closure", daemon=True).start()
        self._is_holding = False
        self._is_told = False

    def run_step(self, recorded: RecordedStep) -> int:
        while self._may_schedule(recorded.number):
            self._schedule_one()
        result = self._results.get()
        self.num_outstanding -= 1
        if result.error is not None:
            raise result.error
        done = read_done(result.packed)
        recorded.result(loss=done.loss, examples=done.examples)
        recorded.tell(
            ClosureDone(
                segment=recorded.segment,
                step=recorded.number,
                worker=self._first_worker + done.worker,
                scheduled_ns=result.scheduled_ns,
                marks_ns=done.marks_ns,
                finished_ns=result.finished_ns,
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
        self._closed.set()
        for _ in range(self._num_ahead):
            self._sent.put(None)

    def _may_schedule(self, step: int) -> bool:
        stop = next((stop for stop in self._stops if stop > step), step)
        is_room = self.num_outstanding < min(self._num_ahead, stop - step)
        return is_room and not self._is_holding

    def _schedule_one(self) -> None:
        scheduled_ns = time.time_ns()
        value = self._schedule()
        self.num_outstanding += 1
        self._sent.put((value, scheduled_ns))

    def _await_each(self) -> None:
        while (taken := self._sent.get()) is not None and not self._closed.is_set():
            self._await(*taken)

    def _await(self, value: Any, scheduled_ns: int) -> None:
        try:
            packed, error = fetch(value, self._closed.wait), None
        except Exception as failure:  # raised again where the step is recorded
            packed, error = None, failure
        self._results.put(_Result(scheduled_ns, time.time_ns(), packed, error))
