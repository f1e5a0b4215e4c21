"""The in-graph timestamps (marks) of a run as columns: one entry per step and replica.

A `step` record has `[inputs_ready, gradients_ready, reduced]` for each replica. Times are ns on the
wall clock of the worker that writes them. In a TPU pod the coordinator writes for all hosts, and
times are on the clock of the replica's host. `strategy_profiles.clocks.estimate` converts between
clocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.run.topology import is_pod, worker_of
from strategy_profiles.tables.columns import Ints, distinct


class MarkRows(Struct, frozen=True):
    """Marks as columns of one length."""

    segment: Ints
    step: Ints
    worker: Ints
    replica: Ints
    """The replica's number in the whole run."""
    inputs_ns: Ints
    gradients_ns: Ints
    reduced_ns: Ints
    start_ns: Ints
    """When the worker's step began."""
    wall_ns: Ints
    """Duration of that step."""
    input_ns: Ints
    """How long the step waited for its batch; 0 if that was not measured."""
    delay_ns: Ints
    """The delay that the lab injected into the replica, by the spec; at most until its gradients
    were ready."""

    def __len__(self) -> int:
        return len(self.step)

    def only(self, chosen: npt.NDArray[Any]) -> MarkRows:
        """Return the rows selected by a mask or an index array."""
        return MarkRows(*(getattr(self, name)[chosen] for name in self.__struct_fields__))

    @classmethod
    def joined(cls, blocks: Sequence[MarkRows]) -> MarkRows:
        """Return the rows of all blocks, in their order."""
        if len(blocks) == 1:
            return blocks[0]
        none = np.empty(0, np.int64)
        names = cls.__struct_fields__
        every = ([none, *(getattr(block, name) for block in blocks)] for name in names)
        return cls(*(np.concatenate(columns) for columns in every))


def read_mark_rows(sources: Sequence[EventSource], segments: Sequence[SegmentOpened]) -> MarkRows:
    """Return all marks, in order of worker and process."""
    layout = {segment.segment: segment for segment in segments}
    blocks = [
        block
        for source in sources
        if source.worker is not None
        for block in _blocks(source.steps, source.worker, layout)
    ]
    return MarkRows.joined(blocks)


def first_replica(worker: int, num_local: int, opened: SegmentOpened | None) -> int:
    """Return the number in the whole run of a worker's first replica."""
    is_all = opened is None or num_local == opened.num_replicas
    return 0 if is_all else worker * num_local


def _workers(writer: int, replicas: Ints, opened: SegmentOpened | None, num_steps: int) -> Ints:
    """Return the worker on whose clock each row's times are: in a pod that of its host."""
    if opened is None or not is_pod(opened):
        return _repeated(writer, num_steps * len(replicas))
    hosts = [worker_of(opened, replica) for replica in replicas.tolist()]
    return np.tile(np.array(hosts, np.int64), num_steps)


def _repeated(value: int, count: int) -> Ints:
    """Return a read-only column of one value, which takes no memory."""
    return np.broadcast_to(np.int64(value), count)


def _blocks(
    steps: StepColumns, worker: int, layout: Mapping[int, SegmentOpened]
) -> Iterator[MarkRows]:
    """Yield the rows of steps with the same segment and number of replicas."""
    first_mark = np.cumsum(steps.num_marks) - steps.num_marks
    numbers, of_segment = distinct(steps.segment)
    counts, of_count = distinct(steps.num_marks)
    alike, kind = distinct(of_segment * len(counts) + of_count)
    for place, pair in enumerate(alike.tolist()):
        segment, num_replicas = int(numbers[pair // len(counts)]), int(counts[pair % len(counts)])
        if not num_replicas:
            continue
        chosen = np.flatnonzero(kind == place)
        opened = layout.get(segment)
        replica = first_replica(worker, num_replicas, opened) + np.arange(num_replicas)
        rows = (first_mark[chosen, None] + np.arange(num_replicas)).reshape(-1)
        marks_ns = steps.marks_ns if len(rows) == len(steps.marks_ns) else steps.marks_ns[rows]
        yield MarkRows(
            segment=_repeated(segment, len(rows)),
            step=np.repeat(steps.step[chosen], num_replicas),
            worker=_workers(worker, replica, opened, len(chosen)),
            replica=np.tile(replica, len(chosen)),
            inputs_ns=np.ascontiguousarray(marks_ns[:, 0]),
            gradients_ns=np.ascontiguousarray(marks_ns[:, 1]),
            reduced_ns=np.ascontiguousarray(marks_ns[:, 2]),
            start_ns=np.repeat(steps.start_ns[chosen], num_replicas),
            wall_ns=np.repeat(_ns(steps.wall_ms[chosen]), num_replicas),
            input_ns=np.repeat(_ns(np.nan_to_num(steps.input_ms[chosen])), num_replicas),
            delay_ns=_delays(opened, replica, marks_ns),
        )


def _delays(opened: SegmentOpened | None, replicas: Ints, marks_ns: Ints) -> Ints:
    known = injected_delays(opened) if opened else {}
    if not known:
        return _repeated(0, len(marks_ns))
    configured = _ns(np.array([known.get(replica, 0.0) for replica in replicas.tolist()]))
    longest = np.maximum(marks_ns[:, 1] - marks_ns[:, 0], 0)
    delays: Ints = np.minimum(np.tile(configured, len(marks_ns) // len(replicas)), longest)
    return delays


def _ns(length_ms: npt.NDArray[np.float64]) -> Ints:
    return np.rint(length_ms * 1e6).astype(np.int64)
