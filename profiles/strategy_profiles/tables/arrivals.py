"""When each worker of a run without timestamps has its batch: who waits for whom, by their steps.

TensorFlow's profiler runs only in the leader, and a program that the lab did not write has no
timestamps in its graph. Each worker still records when it asked for a batch and how long it waited
for it. Workers of a synchronous strategy then do the same work, so one that has its batch later
enters the step's first collective later by as much, and the others wait for it there.

A program that takes no batches from a dataset has them when it calls the step. So has a step of
`fit` seemingly, which takes its batch inside: only lateness of `TELLING` of a step is used then.

Where no batch is late, the processor time of the workers within their steps may tell which of them
has more to compute. On CPUs a worker that waits in a collective uses nearly none, so with equal
cores while they compute, `1 - own / most` is the share of a step in which a worker waits.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from strategy_profiles.clocks.estimate import Clocks
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_coordinator, replicas_of
from strategy_profiles.tables.columns import Ints
from strategy_profiles.tables.mark_rows import MarkRows
from strategy_profiles.tables.marks_table import last_gradients_ns

TELLING = 0.2
"""Share of the median step by which a worker is usually late, if only the begin of its steps is
known: less may be the time in which a step takes its batch. Of processor time, too."""


LEAST = 0.3
"""Part of the cores of the worker that uses most of them, by which another must use fewer: the
recorder and the profiler use some as well."""


class Arrivals(Struct, frozen=True):
    """One row for each step and replica of the segments in which only batches have a time."""

    rows: MarkRows
    """All three times are those at which the replica's worker had its batch."""
    last_ns: Ints
    """When the last worker of the step had its batch, on the clock of the row's worker."""
    cores: Mapping[int, Mapping[int, float]] = MappingProxyType({})
    """The segments in which a worker is late by what it computes, with the cores that each worker
    uses within a step. There, `last_ns` is when the last one has computed, if `rows` have nothing
    to compute."""

    @property
    def late_ms(self) -> npt.NDArray[np.float64]:
        """How long after the row's worker the last one had its batch."""
        return (self.last_ns - self.rows.inputs_ns) / 1e6

    def of_segment(self, segment: int) -> Arrivals:
        chosen = self.rows.segment == segment
        return Arrivals(self.rows.only(chosen), self.last_ns[chosen], self.cores)


def read_arrivals(
    sources: Sequence[EventSource],
    segments: Sequence[SegmentOpened],
    marked: MarkRows,
    clocks: Clocks,
    agreeing: Mapping[int, float],
    cores: Callable[[int, int], float | None],
) -> Arrivals:
    """Return the arrivals in synchronous segments of several workers that have no marks.

    `agreeing` is the share of the wait for a batch in which a worker has its own and waits to hear
    whether the others have theirs, by worker. With it, a batch arrives before that. `cores` returns
    how many cores a worker uses within the steps of a segment; None if that is not known.
    """
    has_marks = set(np.unique(marked.segment).tolist())
    layout = {
        segment.segment: segment
        for segment in segments
        if segment.num_workers > 1
        and not has_coordinator(segment)
        and segment.segment not in has_marks
    }
    blocks = [
        block
        for source in sources
        if source.worker is not None
        for segment in layout.values()
        for block in [_arrived(source, source.worker, segment, agreeing.get(source.worker, 0.0))]
        if len(block)
    ]
    rows = MarkRows.joined(blocks)
    arrivals = Arrivals(rows, last_gradients_ns(rows, clocks, layout))
    return _telling(arrivals, layout.values(), cores)


def _telling(
    arrivals: Arrivals,
    segments: Iterable[SegmentOpened],
    cores: Callable[[int, int], float | None],
) -> Arrivals:
    """Leave out segments whose steps begin at about the same time, if that is all that is known;
    where a worker has more to compute, it is late by that."""
    kept, last_ns = np.ones(len(arrivals.rows), bool), arrivals.last_ns.copy()
    computing: dict[int, Mapping[int, float]] = {}
    for segment in segments:
        own = arrivals.rows.segment == segment.segment
        if not own.any():
            continue
        rows = {
            int(w): own & (arrivals.rows.worker == w) for w in np.unique(arrivals.rows.worker[own])
        }
        late_ms = max(float(np.median(arrivals.late_ms[each])) for each in rows.values())
        step_ms = max(float(np.median(arrivals.rows.wall_ns[each])) / 1e6 for each in rows.values())
        if late_ms >= TELLING * step_ms:
            continue
        kept[own] = arrivals.rows.input_ns[own].any()
        used = {w: each for w in rows if (each := cores(w, segment.segment)) is not None}
        if len(used) == len(rows) and _differ(segment, used.values()):
            kept[own] = True
            computing[segment.segment] = used
            for worker, each in rows.items():
                waited = arrivals.rows.wall_ns[each] * (1 - used[worker] / max(used.values()))
                last_ns[each] = arrivals.rows.inputs_ns[each] + waited.astype(np.int64)
    return Arrivals(arrivals.rows.only(kept), last_ns[kept], computing)


def _differ(segment: SegmentOpened, cores: Collection[float]) -> bool:
    """Whether the cores that workers use within a step say that one of them has more to compute."""
    on_cpus = all("CPU" in device for device in segment.replica_devices)
    return on_cpus and max(cores) - min(cores) >= max(TELLING, LEAST * max(cores))


def _arrived(source: EventSource, worker: int, segment: SegmentOpened, agreeing: float) -> MarkRows:
    steps = source.steps
    chosen = steps.segment == segment.segment
    takes_batches = chosen & np.isfinite(steps.input_ms)
    chosen = takes_batches if takes_batches.any() else chosen
    replicas = np.array(replicas_of(segment, worker), np.int64)
    num_rows = int(chosen.sum()) * len(replicas)

    def each(values: npt.NDArray[np.generic]) -> Ints:
        return np.repeat(np.rint(values[chosen]).astype(np.int64), len(replicas))

    input_ms = np.nan_to_num(steps.input_ms)
    input_ns, start_ns = each(input_ms * 1e6 * (1 - agreeing)), each(steps.start_ns)
    arrived_ns = start_ns + input_ns
    return MarkRows(
        segment=np.full(num_rows, segment.segment, np.int64),
        step=each(steps.step),
        worker=np.full(num_rows, worker, np.int64),
        replica=np.tile(replicas, int(chosen.sum())),
        inputs_ns=arrived_ns,
        gradients_ns=arrived_ns,
        reduced_ns=arrived_ns,
        start_ns=start_ns,
        wall_ns=each(steps.wall_ms * 1e6),
        input_ns=input_ns,
        delay_ns=np.zeros(num_rows, np.int64),
    )


def by_replica(segment: SegmentOpened, arrivals: Arrivals) -> Mapping[int, Arrivals]:
    """Return the rows of each replica of a segment."""
    rows = arrivals.of_segment(segment.segment)
    return {
        int(replica): Arrivals(rows.rows.only(of := rows.rows.replica == replica), rows.last_ns[of])
        for replica in np.unique(rows.rows.replica)
    }
