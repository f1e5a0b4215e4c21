"""Estimate the offset of each worker's wall clock to the reference worker's.

    clocks = estimate_clocks(sources)
    clocks.to_reference(worker, at_ns)          converts a worker's time to the reference clock

Workers on one host share its clock, so their offset is exactly 0. Workers on other hosts measure
their offset throughout the run (`events.ClockMeasured`). If neither applies, a worker's times are
not converted and not compared with other workers' times. docs/decisions/numbers.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.clocks.fit import ClockLine, fit_line
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import ClockMeasured, Environment

Ints = npt.NDArray[np.int64]
ClockSource = Literal["reference", "same host", "measured"]

_CONTRADICTION_NS = 200_000
"""Measurements disprove that two workers share a host's clock only beyond this offset."""


class WorkerClock(Struct, frozen=True):
    """A worker's clock. If nothing is known of it, `source` is None and `reason` says why."""

    worker: int
    source: ClockSource | None
    line: ClockLine | None
    """Offset of the reference clock over time; None if the clocks are the same or unknown."""
    measured: ClockLine | None
    """The offset that the worker's own messages give, even if it is not used."""
    group: int
    """Times of workers in one group can be compared. All known clocks are in group 0."""
    reason: str | None = None

    @property
    def offset_ns(self) -> float | None:
        """Reference time minus own time, in the middle of the measurements; None if unknown."""
        if self.source is None:
            return None
        return self.line.offset_ns if self.line else 0.0

    @property
    def drift(self) -> float | None:
        """How much faster the reference clock runs, in ns per ns; None if unknown."""
        if self.source is None:
            return None
        return self.line.drift if self.line else 0.0

    @property
    def uncertainty_ns(self) -> float | None:
        """Bound on the error of the offset during the measurements; None if unknown."""
        if self.source is None:
            return None
        return self.line.uncertainty_ns if self.line else 0.0

    def ahead_ns(self, own_ns: Ints) -> Ints:
        """Return reference time minus own time at own times; 0 if it is unknown."""
        at_ns = np.asarray(own_ns, np.int64)
        return self.line.at(at_ns) if self.line else np.zeros_like(at_ns)


class Clocks(Struct, frozen=True):
    """The clocks of all workers of a run."""

    reference: int
    workers: Mapping[int, WorkerClock]

    def to_reference(self, worker: int, own_ns: Ints) -> Ints:
        """Convert a worker's times to the reference clock. Returns them unchanged if unknown."""
        at_ns = np.asarray(own_ns, np.int64)
        clock = self.workers.get(worker)
        return at_ns + clock.ahead_ns(at_ns) if clock else at_ns

    def ahead_at(self, worker: int, at_ns: int) -> int:
        """Reference's time less a worker's own at one time, for which arrays are too slow."""
        clock = self.workers.get(worker)
        return clock.line.at_one(at_ns) if clock and clock.line else 0

    def all_to_reference(self, workers: Ints, own_ns: Ints) -> Ints:
        """Convert times of several workers; `workers` has the worker of each time."""
        if not self.has_offsets:
            return own_ns
        at_ns = own_ns.copy()
        for worker in np.unique(workers).tolist():
            mine = workers == worker
            at_ns[mine] = self.to_reference(worker, own_ns[mine])
        return at_ns

    def groups(self, workers: Ints) -> Ints:
        """Return, for each entry of `workers`, the group in which its times can be compared."""
        known = {number: clock.group for number, clock in self.workers.items()}
        names, index = np.unique(workers, return_inverse=True)
        # A worker without a clock gets a group of its own.
        groups = [known.get(name, -1 - name) for name in names.tolist()]
        return np.array(groups, np.int64)[index]

    @property
    def has_offsets(self) -> bool:
        """Whether any worker's clock has an offset to the reference clock."""
        return any(clock.line is not None for clock in self.workers.values())


def estimate_clocks(sources: Sequence[EventSource]) -> Clocks:
    """Return the clocks of the workers that wrote `sources`."""
    numbers = sorted({source.worker for source in sources if source.worker is not None})
    hosts = {number: _host(sources, number) for number in numbers}
    measurements = {number: _measurements(sources, number) for number in numbers}
    named = [event.reference for events in measurements.values() for event in events]
    reference = named[0] if named and named[0] in numbers else min(numbers, default=0)
    clocks = {
        number: _clock(number, reference, hosts, measurements[number], _own_group(number, hosts))
        for number in numbers
    }
    return Clocks(reference, _with_hosts_clock(clocks, hosts))


def _clock(
    worker: int,
    reference: int,
    hosts: Mapping[int, str | None],
    measurements: Sequence[ClockMeasured],
    own_group: int,
) -> WorkerClock:
    if worker == reference:
        return WorkerClock(worker, "reference", None, None, 0)
    measured = _line(measurements)
    is_same_host = hosts[worker] is not None and hosts[worker] == hosts.get(reference)
    if is_same_host and not _contradicts(measured):
        return WorkerClock(worker, "same host", None, measured, 0)
    if measured is not None:
        return WorkerClock(worker, "measured", measured, measured, 0)
    reasons = [event.reason for event in measurements if event.reason]
    reason = reasons[-1] if reasons else "it exchanged no messages with the reference worker"
    return WorkerClock(worker, None, None, None, own_group, reason)


def _with_hosts_clock(
    clocks: Mapping[int, WorkerClock], hosts: Mapping[int, str | None]
) -> dict[int, WorkerClock]:
    """Give workers without a measurement the clock of a measured worker on the same host."""
    measured = {
        hosts[number]: clock.line
        for number, clock in clocks.items()
        if clock.source == "measured" and hosts[number] is not None
    }
    complete = {}
    for number, clock in clocks.items():
        line = measured.get(hosts[number]) if clock.source is None else None
        taken = replace(clock, source="measured", line=line, group=0, reason=None)
        complete[number] = taken if line is not None else clock
    return complete


def _line(measurements: Sequence[ClockMeasured]) -> ClockLine | None:
    sound = [
        (event.measured_ns, event.offset_ns, event.uncertainty_ns)
        for event in measurements
        if event.offset_ns is not None and event.uncertainty_ns is not None
    ]
    return fit_line(*np.array(sound, np.int64).T) if sound else None


def _contradicts(measured: ClockLine | None) -> bool:
    """Return whether a measurement disproves that two workers on one host share its clock."""
    if measured is None:
        return False
    return abs(measured.offset_ns) > measured.uncertainty_ns + _CONTRADICTION_NS


def _measurements(sources: Sequence[EventSource], worker: int) -> list[ClockMeasured]:
    return [
        event
        for source in sources
        if source.worker == worker
        for event in source.of_kind(ClockMeasured)
    ]


def _host(sources: Sequence[EventSource], worker: int) -> str | None:
    """Return an identifier of the worker's kernel, or of its host; None if unknown.

    Containers on one host share the kernel and its clock.
    """
    name = None
    for source in sources:
        if source.worker == worker:
            for event in source.of_kind(Environment):
                name = event.host.boot or event.host.name or name
    return name


def _own_group(worker: int, hosts: Mapping[int, str | None]) -> int:
    """Return a group number that workers on one host share; never 0."""
    if hosts[worker] is None:
        return 1 + worker
    return 1 + min(number for number, host in hosts.items() if host == hosts[worker])
