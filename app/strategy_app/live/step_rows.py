"""The steps of a run as rows of JSON text. Old steps are thinned out to what a screen can show.

A row is `[worker, step, segment, start_ms, wall_ms, loss, examples, phases, others]`; its times
count from the run's first event, and `phases` holds the numbers of `schema.CATEGORIES` per replica
of that worker (`strategy_profiles.tables.mark_phases`) or null. `others` lists `[worker, phases]`
of those whose phases of this step the row changes (`strategy_profiles.tables.multi_worker_steps`).
Rows are encoded once, however many viewers there are.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from strategy_app.live.json_safe import dumps
from strategy_profiles.run.events import StepDone
from strategy_profiles.tables.multi_worker_steps import Split

RECENT_ROWS, OLD_ROWS = 8_192, 2_048
"""A viewer that has none gets them all: at most 2 MB of text with four replicas."""

Splitter = Callable[[int, StepDone], tuple[Split, list[tuple[int, Split]]]]
"""Phases of a step's replicas, and those of other workers that it completes."""


class StepRows:
    """Keeps the newest `recent` rows, and of earlier steps one in several.

    One thread adds rows, and any may ask for them: they wait for each other for the time of a copy.
    """

    def __init__(self, split: Splitter, recent: int = RECENT_ROWS) -> None:
        self.total = 0
        """Rows that were ever added: what a viewer's cursor counts."""
        self._split = split
        self._num_recent = recent
        self._recent: deque[tuple[int, str]] = deque()
        self._old: list[tuple[int, str]] = []
        self._stride = 1
        self._lock = threading.Lock()

    def add(self, worker: int, step: StepDone, start_ms: float) -> None:
        """Append the row of a worker's step."""
        row = step.step, self._row(worker, step, start_ms)
        with self._lock:
            self._recent.append(row)
            self.total += 1
            if len(self._recent) > self._num_recent:
                self._thin(*self._recent.popleft())

    def since(self, seen: int, until: int) -> list[str] | None:
        """Return rows number `seen` to `until`, counted from 0 and without the last one.

        Returns None if some of these rows are no longer kept.
        """
        with self._lock:
            begin = self.total - len(self._recent)
            if not begin <= seen <= self.total:
                return None
            return [self._recent[i][1] for i in range(seen - begin, until - begin)]

    def kept(self, until: int) -> list[str]:
        """Return the rows before number `until` that are kept, oldest first."""
        with self._lock:
            every = [row for _, row in (*self._old, *self._recent)]
            return every[: len(every) - (self.total - until)]

    def _thin(self, step: int, row: str) -> None:
        """Whole steps are kept or not: the rows of all workers, or of none."""
        if step % self._stride:
            return
        self._old.append((step, row))
        if len(self._old) > OLD_ROWS:
            self._stride *= 2
            kept = [item for item in self._old if item[0] % self._stride == 0]
            self._old = kept if len(kept) < OLD_ROWS else self._old[::2]

    def _row(self, worker: int, step: StepDone, start_ms: float) -> str:
        loss = None if step.loss is None else float(f"{step.loss:.6g}")  # a small one has digits
        wall_ms = round(step.wall_ms, 4)
        row = [worker, step.step, step.segment, start_ms, wall_ms, loss, step.examples]
        own, changed = self._split(worker, step)
        others = ",".join(f"[{other},{_numbers(split)}]" for other, split in changed)
        return f"{dumps(row)[:-1]},{_numbers(own)},[{others}]]"


def _numbers(phases: Split) -> str:
    """One formatting of all numbers: at 20,000 events a second, one at a time is too slow."""
    if phases is None:
        return "null"
    flat = [ms for replica in phases for ms in replica]
    return "[" + ",".join(["%.3f"] * len(flat)) % tuple(flat) + "]"
