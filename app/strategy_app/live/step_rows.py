"""The steps of a run as rows for its viewers. Old steps are thinned out to what a screen can show.

A row is `[worker, step, segment, start_ms, wall_ms, loss, examples, phases, others]`; its times
count from the run's first event, and `phases` holds the numbers of `schema.CATEGORIES` per replica
of that worker (`strategy_profiles.tables.mark_phases`) or null. `others` lists `[worker, phases]`
of those whose phases of this step the row changes (`strategy_profiles.tables.multi_worker_steps`).
A row is encoded when the first viewer asks for it, once for all of them.
"""

from __future__ import annotations

import threading
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import msgspec

from strategy_app.live.set_clock import SetClock
from strategy_profiles.run.events import StepDone
from strategy_profiles.tables.multi_worker_steps import Split

RECENT_ROWS, OLD_ROWS = 8_192, 2_048
"""A viewer that has none gets them all: at most 2 MB of text with four replicas."""

Splitter = Callable[[int, StepDone], tuple[Split, list[tuple[int, Split]]]]
"""Phases of a step's replicas, and those of other workers that it completes."""


@dataclass(slots=True)
class _Row:
    """A step without its marks, which take most of its memory."""

    worker: int
    step: int
    segment: int
    start_ms: float
    wall_ms: float
    loss: float | None
    examples: int | None
    phases: array[float] | None
    others: list[tuple[int, array[float] | None]]
    text: str | None = None

    def encoded(self) -> str:
        """The row as JSON text; two threads that make it at once make the same."""
        if self.text is None:
            others = ",".join([f"[{other},{_numbers(split)}]" for other, split in self.others])
            first = [self.worker, self.step, self.segment, self.start_ms]
            loss = (
                None if self.loss is None else float(f"{self.loss:.6g}")
            )  # a small one has digits
            rest = [round(self.wall_ms, 4), loss, self.examples]
            head = msgspec.json.encode(first + rest).decode()
            self.text = f"{head[:-1]},{_numbers(self.phases)},[{others}]]"
        return self.text


class StepRows:
    """Keeps the newest `recent` rows, and of earlier steps one in several.

    One thread adds rows, and any may ask for them: they wait for each other for the time of a copy.
    """

    def __init__(self, split: Splitter, recent: int = RECENT_ROWS) -> None:
        self.total = 0
        """Rows that were ever added: what a viewer's cursor counts."""
        self._split = split
        self._num_recent = recent
        self._recent: deque[_Row] = deque()
        self._old: list[_Row] = []
        self._stride = 1
        self._lock = threading.Lock()

    def add(self, worker: int, step: StepDone, start_ms: float) -> None:
        """Append the row of a worker's step."""
        row = _row(worker, step, start_ms, *self._split(worker, step))
        with self._lock:
            self._recent.append(row)
            self.total += 1
            if len(self._recent) > self._num_recent:
                self._thin(self._recent.popleft())

    def since(self, seen: int, until: int) -> list[str] | None:
        """Return rows number `seen` to `until`, counted from 0 and without the last one.

        Returns None if some of these rows are no longer kept.
        """
        with self._lock:
            begin = self.total - len(self._recent)
            if not begin <= seen <= self.total:
                return None
            wanted = [self._recent[i] for i in range(seen - begin, until - begin)]
        return [row.encoded() for row in wanted]

    def rows_until(self, until: int) -> list[str]:
        """Return the rows before number `until` that are kept, oldest first."""
        with self._lock:
            every = [*self._old, *self._recent]
            wanted = every[: len(every) - (self.total - until)]
        return [row.encoded() for row in wanted]

    def shift(self, clock: SetClock) -> None:
        """Have rows after a change of the first worker's clock start by the clock before it."""
        with self._lock:
            leaders = [row for row in (*self._old, *self._recent) if row.worker == 0]
            for row in leaders[clock.first_after(leaders) :]:
                row.start_ms = round(row.start_ms - clock.jump_ms, 3)
                row.text = None

    def _thin(self, oldest: _Row) -> None:
        """Whole steps are kept or not: the rows of all workers, or of none."""
        if oldest.step % self._stride:
            return
        self._old.append(oldest)
        if len(self._old) > OLD_ROWS:
            self._stride *= 2
            kept = [each for each in self._old if each.step % self._stride == 0]
            self._old = kept if len(kept) < OLD_ROWS else self._old[::2]


def rows_ahead(steps: Iterable[tuple[StepDone, float]]) -> list[str]:
    """The rows of steps of the first worker, each with its start, whose phases are not known."""
    return [_row(0, step, start_ms, None, []).encoded() for step, start_ms in steps]


def _row(
    worker: int, step: StepDone, start_ms: float, phases: Split, others: list[tuple[int, Split]]
) -> _Row:
    return _Row(
        worker,
        step.step,
        step.segment,
        start_ms,
        step.wall_ms,
        step.loss,
        step.examples,
        _flat(phases),
        [(other, _flat(split)) for other, split in others],
    )


def _flat(phases: Split) -> array[float] | None:
    if phases is None:
        return None
    return array("d", [ms for replica in phases for ms in replica])


def _numbers(phases: array[float] | None) -> str:
    """One formatting of all numbers: to round one at a time takes twice as long."""
    if phases is None:
        return "null"
    return "[" + ",".join(["%.3f"] * len(phases)) % tuple(phases) + "]"
