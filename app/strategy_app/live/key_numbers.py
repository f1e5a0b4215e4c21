"""The key numbers of a run that goes on, of its newest steps and its newest capture.

They are computed by the functions that compute them for a whole segment. Once the run is over they
are those of one segment, as the page Why, the report and the command line show them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import strategy_profiles
from strategy_app.live.step_rows import Splitter
from strategy_profiles.analysis.communication import NO_COLLECTIVE, Communication
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.headline_segment import headline_segment
from strategy_profiles.analysis.key_numbers import (
    busbw,
    key_numbers,
    loop_throughput,
    loop_time,
    loss,
    slowest,
    step_time,
    traffic,
)
from strategy_profiles.analysis.loop_pace import newest_pace
from strategy_profiles.analysis.steps import (
    StepTimes,
    calls_of,
    of_whole_calls,
    settled_steps,
    timed_steps,
)
from strategy_profiles.analysis.stragglers import (
    MIN_STEPS,
    Stragglers,
    Work,
    lateness,
    slowest_served,
    unanswered,
)
from strategy_profiles.answers.answer import KeyNumber
from strategy_profiles.errors import LabError
from strategy_profiles.reporting import units
from strategy_profiles.reporting.units import MISSING
from strategy_profiles.run.events import Retraced, SegmentOpened, StepDone
from strategy_profiles.run.tail import WrittenEvent
from strategy_profiles.run.topology import has_servers, worker_of
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.mark_rows import first_replica
from strategy_profiles.tables.multi_worker_steps import Split
from strategy_profiles.tables.schema import CATEGORIES

TIMED = 20
"""Newest steps behind step time and throughput."""
KEYS = ("loop_time", "loop_throughput", "step_time", "slowest", "loss", "traffic", "busbw")
"""The key numbers of a running run."""
COMPARED = 50
"""Newest steps over which replicas are compared."""
SOON = {"steps": "after the second step"}
"""When a configuration has its first numbers: until then it has not failed to record them."""
SOON_WITHOUT_STEP = SOON | {"loss": "after the first step"}
"""The same before the first step is done."""
AFTER_A_FEW_STEPS = "after a few steps"
NO_STEP = "the run ended before its first step was done"

_COMPUTE, _DELAY, _WAIT = (CATEGORIES.index(name) for name in ("compute", "delay", "wait"))


@dataclass(slots=True)
class _Step:
    """What is known of a step so far."""

    event: StepDone | None = None
    """The step as worker 0 recorded it."""
    phases: dict[int, Split] = field(default_factory=dict)
    """Each worker's phases of the step, by worker."""
    is_traced: bool = False


def message_of_all_steps(folder: Path) -> dict[str, Any] | None:
    """The live page's message with the key numbers of the `headline_segment` over all its steps.

    None if the run cannot be read.
    """
    try:
        profile = strategy_profiles.load(folder)
        segment = headline_segment(profile)
        if segment is None:  # no later event brings the numbers
            missing = (KeyNumber(key, None, MISSING, NO_STEP, None) for key in KEYS)
            return _message("all", missing, unanswered(0, NO_STEP))
        facts = gather_facts(profile, segment)
        return _message("all", key_numbers(facts), facts.stragglers)
    except (LabError, OSError, ValueError):
        return None


class LiveNumbers:
    """Fed with every event of a run, in order. For one thread at a time."""

    def __init__(self, split: Splitter) -> None:
        self._split_step = split
        self._steps: OrderedDict[int, _Step] = OrderedDict()
        self._segment: SegmentOpened | None = None
        self._capture: Communication | None = None
        """The newest one of the segment in force."""
        self._whole: dict[str, Any] | None = None

    def split(self, worker: int, step: StepDone) -> tuple[Split, list[tuple[int, Split]]]:
        """Phases of a worker's step and of those that it changes; both are remembered."""
        own, changed = self._split_step(worker, step)
        if self._segment is not None and step.segment == self._segment.segment:
            self._whole = None
            known = self._step_numbered(step.step)
            known.phases.update({worker: own, **dict(changed)})
            if worker == 0:
                known.event = step
        return own, changed

    def take(self, written: WrittenEvent) -> None:
        """Note what an event that is no step says of the steps."""
        event = written.event
        if isinstance(event, SegmentOpened) and not written.worker:
            self._segment, self._whole, self._capture = event, None, None
            self._steps.clear()
            self._step_numbered(event.first_step).is_traced = True
        elif isinstance(event, Retraced):
            self._step_numbered(event.step).is_traced = True

    def captured(self, measured: Communication) -> None:
        """Note what the collectives of a capture window did."""
        if self._segment is not None and measured.segment == self._segment.segment:
            self._capture = measured

    def settle(self, whole: dict[str, Any] | None) -> None:
        """The run is over: the numbers are `whole` from now on, until it goes on."""
        self._whole = whole

    def message(
        self, titles: Mapping[int, str] | None = None, served_ms: Mapping[int, float] | None = None
    ) -> dict[str, Any]:
        """The message for viewers: which steps the numbers are of, and each with its text.

        Args:
          titles: of the run's processes, by number.
          served_ms: length of a step of each worker of parameter servers, by process number.
        """
        if self._whole is not None:
            return self._whole
        times = self._times()
        pace = newest_pace(times)
        late = self._late(titles or {}, served_ms or {})
        note = f"median of the last {units.counted(int(times.timed.sum()), 'step')}"
        moved = self._capture or self._no_capture()
        is_of_lab = self._segment is not None and self._segment.is_of_lab
        numbers = (
            loop_time(pace, times),
            loop_throughput(pace, times),
            step_time(times, note),
            slowest(late),
            loss(times, "", tells_every_loss=is_of_lab),
            traffic(moved),
            busbw(moved),
        )
        return _message("newest", numbers, late)

    def _no_capture(self) -> Communication:
        reason = NO_COLLECTIVE if self._is_served else "after the first full capture"
        return Communication(0, 0, (), (), None, None, reason)

    @property
    def _is_served(self) -> bool:
        return self._segment is not None and has_servers(self._segment)

    def _step_numbered(self, number: int) -> _Step:
        if number not in self._steps:
            self._steps[number] = _Step()
            if len(self._steps) > 2 * COMPARED:
                self._steps.popitem(last=False)
        return self._steps[number]

    def _newest(self, count: int) -> list[_Step]:
        done = [step for step in self._steps.values() if step.event is not None]
        return done[-count:]

    def _times(self) -> StepTimes:
        steps = self._newest(TIMED)
        events = [step.event for step in steps if step.event is not None]
        traced = np.array([step.is_traced for step in steps], bool)
        captured = np.array([event.captured for event in events], bool)
        first = self._segment.first_step if self._segment else None
        start_ns = np.array([event.start_ns for event in events], np.int64)
        wall_ms = np.array([event.wall_ms for event in events], np.float64)
        call = calls_of(start_ns, wall_ms)
        begins = any(event.step == first for event in events[:1])
        num_warm_up = int(np.count_nonzero(call == 0)) if begins else 0
        settled = settled_steps(of_whole_calls(traced, call), num_warm_up)
        return StepTimes(
            segment=self._segment.segment if self._segment else 0,
            step=np.array([event.step for event in events], np.int64),
            start_ns=np.array([event.start_ns for event in events], np.int64),
            wall_ms=_floats([event.wall_ms for event in events]),
            input_ms=_floats([event.input_ms for event in events]),
            loss=_floats([event.loss for event in events]),
            examples=_floats([event.examples for event in events]),
            captured=captured,
            num_warm_up=num_warm_up,
            settled=settled,
            typical=settled,
            timed=timed_steps(settled, captured, call),
            unknown=SOON if events else SOON_WITHOUT_STEP,
        )

    def _late(self, titles: Mapping[int, str], served_ms: Mapping[int, float]) -> Stragglers:
        """Return the lateness of replicas over the newest steps that all of them have reported."""
        if self._is_served:
            return slowest_served(served_ms, 0, titles)
        num_replicas = self._segment.num_replicas if self._segment else 0
        settled = [step for step in self._newest(COMPARED) if not step.is_traced]
        rows = [row for step in settled if (row := self._replicas(step))]
        segment = self._segment.segment if self._segment else 0
        is_early = len(settled) < MIN_STEPS
        if self._segment is None or (num_replicas > 1 and is_early):
            return unanswered(segment, AFTER_A_FEW_STEPS)
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
        return lateness(work, segment, titles)

    def _replicas(self, step: _Step) -> dict[int, tuple[int, float, float, float]]:
        """Return `(worker, wait, own work, step length)` by replica, with times in ms."""
        wall_ms = step.event.wall_ms if step.event else 0.0
        rows = {}
        for worker, phases in step.phases.items():
            first = first_replica(worker, len(phases or ()), self._segment)
            for local, parts in enumerate(phases or ()):
                replica = first + local
                process = worker_of(self._segment, replica) if self._segment else worker
                rows[replica] = (process, parts[_WAIT], parts[_COMPUTE] + parts[_DELAY], wall_ms)
        return rows


def _message(of: str, numbers: Iterable[KeyNumber], late: Stragglers) -> dict[str, Any]:
    """Each number as value, unit and note, and the replica to point out."""
    texts = {item.key: (*item.text.partition(" ")[::2], item.note) for item in numbers}
    late_replica = late.straggler.replica if late.straggler else None
    return {"of": of, "slowest": late_replica, "numbers": texts}


def _floats(values: Sequence[float | None]) -> Floats:
    """A column; a missing or infinite value is NaN."""
    column = np.array([np.nan if value is None else value for value in values], np.float64)
    return np.where(np.isfinite(column), column, np.nan)
