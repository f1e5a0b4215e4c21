"""The steps of a run as rows of JSON text, the oldest thinned out: as much as a screen can show.

A row is `[worker, step, segment, start_ms, wall_ms, loss, examples, phases]`; its times count from
the run's first event, and `phases` holds five numbers per replica of that worker
(`profiles.marks`) or null. Rows are encoded once, however many viewers there are.
"""

from __future__ import annotations

import math
from collections import deque

from app.plain import dumps, integer, rounded
from profiles.marks import split_step
from profiles.sources import Record

RECENT_ROWS = 16_384
OLD_ROWS = 4_096


class StepRows:
    """All of the newest `recent` rows; of those before, every so many."""

    def __init__(self, recent: int = RECENT_ROWS) -> None:
        self.total = 0
        """Rows that were ever added: what a viewer's cursor counts."""
        self._num_recent = recent
        self._recent: deque[str] = deque()
        self._old: list[str] = []
        self._stride, self._skipped = 1, 0

    def add(self, step: Record, start_ms: float) -> None:
        """Append the row of a `step` record."""
        self._recent.append(_row(step, start_ms))
        self.total += 1
        if len(self._recent) > self._num_recent:
            self._thin(self._recent.popleft())

    def since(self, seen: int) -> list[str] | None:
        """Rows after the first `seen`; None where some of them are no longer kept."""
        missed = self.total - seen
        if not 0 <= missed <= len(self._recent):
            return None
        return [self._recent[i] for i in range(len(self._recent) - missed, len(self._recent))]

    def kept(self) -> list[str]:
        """Everything there is, oldest first."""
        return [*self._old, *self._recent]

    def _thin(self, row: str) -> None:
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._old.append(row)
        if len(self._old) > OLD_ROWS:
            self._old = self._old[::2]
            self._stride *= 2


def _row(step: Record, start_ms: float) -> str:
    row = [
        integer(step.get("worker")) or 0,
        integer(step.get("step")),
        integer(step.get("segment")),
        start_ms,
        rounded(step.get("wall_ms")),
        rounded(step.get("loss"), 6),
        integer(step.get("examples")),
    ]
    return f"{dumps(row)[:-1]},{_phases(step)}]"


def _phases(step: Record) -> str:
    """One formatting of all numbers: at 20,000 events a second, one at a time is too slow."""
    phases = split_step(step)
    if phases is None:
        return "null"
    flat = [ms for replica in phases for ms in replica]
    if not math.isfinite(sum(flat)):
        return "null"
    return "[" + ",".join(["%.3f"] * len(flat)) % tuple(flat) + "]"
