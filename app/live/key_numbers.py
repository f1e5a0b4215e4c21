"""The key numbers of a run that goes on: of its newest steps, by the same definitions as of a run.

While a run goes on its numbers are those of the newest steps, so that a change shows at once. Once
it is over they are those of the whole segment, as the Overview, the report and the command line
tell them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from strategy_lab import profiles
from strategy_lab.app.live.multi_worker_steps import Split
from strategy_lab.app.live.step_rows import Splitter
from strategy_lab.profiles.analysis.communication import NO_WINDOW, Communication
from strategy_lab.profiles.analysis.key_numbers import KeyNumbers, key_numbers, segment_numbers
from strategy_lab.profiles.analysis.steps import StepTimes, settled_steps, timed_steps
from strategy_lab.profiles.analysis.stragglers import Stragglers, Work, lateness
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.run.events import Retraced, SegmentOpened, StepDone
from strategy_lab.profiles.run.tail import Told
from strategy_lab.profiles.tables.columns import Floats
from strategy_lab.profiles.tables.mark_rows import first_replica

TIMED = 20
"""Newest steps behind step time and throughput."""
COMPARED = 50
"""Newest steps over which replicas are compared."""

_COMPUTE, _WAIT = 0, 1
"""Of a replica's phases, in their order (`schema.CATEGORIES`)."""


@dataclass(slots=True)
class _Step:
    """What is known of a step so far."""

    event: StepDone | None = None
    """As worker 0 told it."""
    phases: dict[int, Split] = field(default_factory=dict)
    """By worker."""
    is_traced: bool = False


def whole_numbers(folder: Path) -> KeyNumbers | None:
    """The numbers of a run's last segment, over all its steps; None if it cannot be read."""
    try:
        profile = profiles.load(folder)
        return segment_numbers(profile, profile.segments[-1]) if profile.segments else None
    except (LabError, OSError, ValueError):
        return None


class LiveNumbers:
    """Fed with every event of a run, in order. For one thread at a time."""

    def __init__(self, split: Splitter) -> None:
        self._split_step = split
        self._steps: OrderedDict[int, _Step] = OrderedDict()
        self._segment: SegmentOpened | None = None
        self._whole: KeyNumbers | None = None

    def split(self, worker: int, step: StepDone) -> tuple[Split, list[tuple[int, Split]]]:
        """Phases of a worker's step and of those that it changes; both are remembered."""
        own, changed = self._split_step(worker, step)
        if self._segment is not None and step.segment == self._segment.segment:
            self._whole = None
            known = self._known(step.step)
            known.phases.update({worker: own, **dict(changed)})
            if worker == 0:
                known.event = step
        return own, changed

    def take(self, told: Told) -> None:
        """Note what an event that is no step says of the steps."""
        event = told.event
        if isinstance(event, SegmentOpened) and not told.worker:
            self._segment, self._whole = event, None
            self._steps.clear()
            self._known(event.first_step).is_traced = True
        elif isinstance(event, Retraced):
            self._known(event.step).is_traced = True

    def settle(self, whole: KeyNumbers | None) -> None:
        """The run is over: the numbers are `whole` from now on, until it goes on."""
        self._whole = whole

    def told(self) -> dict[str, Any]:
        """What viewers get: the fields of `KeyNumbers`, and what steps they are of."""
        if self._whole is not None:
            return asdict(self._whole) | {"of": "all", "is_first": False}
        times, late = self._times(), self._late()
        segment = self._segment.segment if self._segment else 0
        nothing = Communication(segment, 0, (), (), None, None, NO_WINDOW)
        found = asdict(key_numbers(times, late, nothing))
        for name in ("main_collective", "busbw_gbps", "collective_bytes"):
            del found[name]  # of the newest capture: the page has it with its window
        is_first = times.count == 1 and bool(self._newest(1)[0].is_traced)
        return found | {"of": "newest", "is_first": is_first}

    def _known(self, number: int) -> _Step:
        if number not in self._steps:
            self._steps[number] = _Step()
            if len(self._steps) > 2 * COMPARED:
                self._steps.popitem(last=False)
        return self._steps[number]

    def _newest(self, count: int) -> list[_Step]:
        told = [step for step in self._steps.values() if step.event is not None]
        return told[-count:]

    def _times(self) -> StepTimes:
        steps = self._newest(TIMED)
        events = [step.event for step in steps if step.event is not None]
        traced = np.array([step.is_traced for step in steps], bool)
        captured = np.array([event.captured for event in events], bool)
        settled = settled_steps(traced, 0)
        # Where all are traced (the first step alone), they are all there is.
        settled = settled if settled.any() else ~settled
        return StepTimes(
            segment=self._segment.segment if self._segment else 0,
            step=np.array([event.step for event in events], np.int64),
            start_ns=np.array([event.start_ns for event in events], np.int64),
            wall_ms=_floats([event.wall_ms for event in events]),
            input_ms=_floats([event.input_ms for event in events]),
            loss=_floats([event.loss for event in events]),
            examples=_floats([event.examples for event in events]),
            captured=captured,
            num_warm_up=0,
            settled=settled,
            timed=timed_steps(settled, captured),
        )

    def _late(self) -> Stragglers:
        """The newest steps that all replicas have reported."""
        num_replicas = self._segment.num_replicas if self._segment else 0
        rows = [
            row
            for step in self._newest(COMPARED)
            if not step.is_traced and (row := self._replicas(step))
        ]
        whole = [row for row in rows if len(row) == num_replicas]
        replicas = sorted(whole[0]) if whole else []
        whole = [row for row in whole if sorted(row) == replicas]
        shape = (len(whole), len(replicas), 3)
        values = np.array([[row[r][1:] for r in replicas] for row in whole], float).reshape(shape)
        work = Work(
            "marks",
            replicas,
            [whole[0][r][0] for r in replicas] if whole else [],
            values[:, :, 0],
            values[:, :, 1],
            values[:, :, 2].max(axis=1, initial=0.0),
        )
        return lateness(work, self._segment.segment if self._segment else 0)

    def _replicas(self, step: _Step) -> dict[int, tuple[int, float, float, float]]:
        """By replica its worker, wait, compute and the step's length, in ms."""
        wall_ms = step.event.wall_ms if step.event else 0.0
        found = {}
        for worker, phases in step.phases.items():
            first = first_replica(worker, len(phases or ()), self._segment)
            for local, parts in enumerate(phases or ()):
                found[first + local] = (worker, parts[_WAIT], parts[_COMPUTE], wall_ms)
        return found


def _floats(values: Sequence[float | None]) -> Floats:
    """A column; a missing or infinite value is NaN."""
    column = np.array([np.nan if value is None else value for value in values], np.float64)
    return np.where(np.isfinite(column), column, np.nan)
