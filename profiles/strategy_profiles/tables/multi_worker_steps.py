"""Steps of several workers as they come in: who waited for whom is known once both have told.

Every worker writes its own row of a step. The phases of a row cover the replicas reported so far; a
later row that shows that others waited longer corrects their phases.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from strategy_profiles.clocks.estimate import Clocks, estimate_clocks
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import (
    ClockMeasured,
    Environment,
    Event,
    SegmentOpened,
    StepDone,
)
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.run.tail import WrittenEvent
from strategy_profiles.run.topology import has_coordinator
from strategy_profiles.tables.mark_phases import PhasesMs, split_step
from strategy_profiles.tables.mark_rows import first_replica, read_mark_rows
from strategy_profiles.tables.marks_table import last_gradients_ns
from strategy_profiles.tables.multi_worker import complete_tables
from strategy_profiles.tables.schema import TABLES

MAX_STEPS = 1_024
"""Steps that are kept for workers that report them later, and for their capture."""
MAX_MEASUREMENTS = 32
"""Newest measurements kept of each worker's clock."""

_MOMENT = ("segment", "step")

Split = list[PhasesMs] | None


@dataclass(slots=True)
class _Step:
    """The rows of a step from the workers of one clock."""

    by_worker: dict[int, StepDone] = field(default_factory=dict)
    last_ns: int | None = None
    """When the last replica so far had its gradients, on the reference's clock."""


class LiveSteps:
    """Splits the steps of a run into phases while its events arrive."""

    def __init__(self) -> None:
        self._together: dict[int, SegmentOpened] = {}
        """Segments whose workers wait for each other, as the first worker opened them."""
        self._delays: dict[int, tuple[SegmentOpened, dict[int, float]]] = {}
        """Segments into whose replicas the lab injected a delay, with its length by replica."""
        self._open: OrderedDict[tuple[int, int, int], _Step] = OrderedDict()
        self._told: dict[int, list[Event]] = {}
        self._clocks: Clocks | None = None

    def take(self, written: WrittenEvent) -> None:
        """Update segments and clocks from an event other than a step."""
        event = written.event
        if isinstance(event, SegmentOpened):
            if delays_ms := injected_delays(event):
                self._delays[event.segment] = event, delays_ms
            if event.num_workers > 1 and not has_coordinator(event):
                self._together.setdefault(event.segment, event)
        elif isinstance(event, ClockMeasured | Environment) and written.worker is not None:
            measured = self._told.setdefault(written.worker, [])
            measured.append(event)
            if len(measured) > MAX_MEASUREMENTS + 1:
                del measured[1]  # the first one names the host
            self._clocks = None

    def split(self, worker: int, step: StepDone) -> tuple[Split, list[tuple[int, Split]]]:
        """Phases of a worker's step, and those of other workers that it changes."""
        if step.segment not in self._together or not step.marks_ns:
            return split_step(step, None, self._delays_of(worker, step)), []
        own = max(gradients for _, gradients, _ in step.marks_ns)
        clocks = self._known_clocks()
        group = clocks.workers[worker].group if worker in clocks.workers else -1 - worker
        known = self._opened((step.segment, step.step, group))
        last_ns = own + clocks.ahead_at(worker, own)
        is_later = known.last_ns is None or last_ns > known.last_ns
        known.last_ns = last_ns if known.last_ns is None else max(last_ns, known.last_ns)
        others = list(known.by_worker.items()) if is_later else []
        known.by_worker[worker] = step
        changed = [
            (other, self._split(clocks, other, theirs, known.last_ns))
            for other, theirs in others
            if other != worker
        ]
        return self._split(clocks, worker, step, known.last_ns), changed

    def _split(self, clocks: Clocks, worker: int, step: StepDone, last_ns: int) -> Split:
        own_last_ns = last_ns - clocks.ahead_at(worker, last_ns)
        return split_step(step, own_last_ns, self._delays_of(worker, step))

    def _delays_of(self, worker: int, step: StepDone) -> Sequence[float]:
        """The delays of a worker's replicas in a step, in order; empty without any."""
        if step.segment not in self._delays or not step.marks_ns:
            return ()
        opened, delays_ms = self._delays[step.segment]
        first = first_replica(worker, len(step.marks_ns), opened)
        return [delays_ms.get(first + at, 0.0) for at in range(len(step.marks_ns))]

    def complete(self, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """The tables of a capture window with what the marks of all workers add to them."""
        captured = tables["replica_steps"]
        moments = set(zip(*(captured[name].to_pylist() for name in _MOMENT), strict=True))
        steps_of_worker: dict[int, list[StepDone]] = {}
        for (segment, number, _), known in self._open.items():
            if (segment, number) in moments:
                for worker, step in known.by_worker.items():
                    steps_of_worker.setdefault(worker, []).append(step)
        if len(steps_of_worker) < 2:
            return tables
        sources = [
            EventSource("", worker, 0, [], StepColumns.of(steps))
            for worker, steps in sorted(steps_of_worker.items())
        ]
        rows = read_mark_rows(sources, list(self._together.values()))
        last_ns = last_gradients_ns(rows, self._known_clocks(), self._together)
        whole = {name: table.cast(TABLES[name]) for name, table in tables.items()}
        return complete_tables(whole, rows, last_ns, self._together)

    def _opened(self, key: tuple[int, int, int]) -> _Step:
        if key not in self._open:
            self._open[key] = _Step()
            if len(self._open) > MAX_STEPS:
                self._open.popitem(last=False)
        return self._open[key]

    def _known_clocks(self) -> Clocks:
        if self._clocks is None:
            self._clocks = estimate_clocks(
                [
                    EventSource("", worker, 0, events)
                    for worker, events in sorted(self._told.items())
                ]
            )
        return self._clocks
