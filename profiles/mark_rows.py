"""The light marks of a run as columns: one entry per step and replica, as its worker wrote them.

Per replica a `step` record carries `[inputs_ready, gradients_ready, reduced]`. All times are ns
on the wall clock of the worker that wrote them, or that of the replica's host in a TPU pod, whose
coordinator writes for all; `profiles.clocks` compares workers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from strategy_lab.profiles.events import SegmentOpened
from strategy_lab.profiles.hosts import is_pod, worker_of
from strategy_lab.profiles.sources import EventSource, Record

Ints = npt.NDArray[np.int64]
_LONGEST_MS = 2**62 / 1e6
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class MarkRows:
    """Columns of one length."""

    segment: Ints
    step: Ints
    worker: Ints
    replica: Ints
    """Its number in the whole run."""
    inputs_ns: Ints
    gradients_ns: Ints
    reduced_ns: Ints
    start_ns: Ints
    """When its worker's step began."""
    wall_ns: Ints
    """Length of that step; -1 where unknown."""
    input_ns: Ints
    """What of it went by until the batch was there; 0 where nobody told."""

    def __len__(self) -> int:
        return len(self.step)

    def only(self, chosen: npt.NDArray[Any]) -> MarkRows:
        """The rows of a mask, or of an index."""
        return MarkRows(*(getattr(self, item.name)[chosen] for item in fields(self)))


_WIDTH = len(fields(MarkRows))


def read_mark_rows(
    sources: Sequence[EventSource], segments: Sequence[SegmentOpened]
) -> tuple[MarkRows, int]:
    """All usable marks, by worker and process, and how many records were not usable."""
    layout = {segment.segment: segment for segment in segments}
    blocks = [np.empty((0, _WIDTH), np.int64)]
    num_bad = 0
    for source in sources:
        if source.worker is None:
            continue
        records = [record for record in source.of_kind("step") if record.get("marks_ns")]
        found, bad = _blocks(records, source.worker, layout)
        blocks += found
        num_bad += bad
    return MarkRows(*np.concatenate(blocks).T.copy()), num_bad


def first_replica(worker: int, num_local: int, opened: SegmentOpened | None) -> int:
    """The number in the whole run of a worker's own replica 0."""
    is_all = opened is None or num_local == opened.num_replicas
    return 0 if is_all else worker * num_local


def _workers(writer: int, replicas: Ints, opened: SegmentOpened | None) -> Ints:
    """On whose clock each replica's times are: the writer's, or its host's in a pod."""
    if opened is None or not is_pod(opened):
        return np.full(len(replicas), writer, np.int64)
    return np.array([worker_of(opened, replica) for replica in replicas.tolist()], np.int64)


def _blocks(
    records: Sequence[Record], worker: int, layout: Mapping[int, SegmentOpened]
) -> tuple[list[Ints], int]:
    alike: dict[tuple[int, int], list[Record]] = {}
    num_bad = 0
    for record in records:
        segment, marks = record.get("segment"), record["marks_ns"]
        if _is_count(segment) and _is_count(record.get("step")) and isinstance(marks, list):
            alike.setdefault((segment, len(marks)), []).append(record)
        else:
            num_bad += 1
    blocks = []
    for (segment, num_replicas), group in alike.items():
        sound, marks_ns = _stacked(group, num_replicas)
        num_bad += len(group) - len(sound)
        replica = first_replica(worker, num_replicas, layout.get(segment)) + np.arange(num_replicas)
        steps = np.array([record["step"] for record in sound], np.int64)
        times = np.array([_times(record) for record in sound], np.int64).reshape(-1, 3, 1)
        known = (segment, steps[:, None], _workers(worker, replica, layout.get(segment)), replica)
        every = (*known, *np.moveaxis(marks_ns, 2, 0), *np.moveaxis(times, 1, 0))
        shape = (len(sound), num_replicas)
        columns = [np.broadcast_to(np.asarray(value, np.int64), shape) for value in every]
        blocks.append(np.stack(columns, axis=-1).reshape(-1, _WIDTH))
    return blocks, num_bad


def _stacked(records: list[Record], num_replicas: int) -> tuple[list[Record], Ints]:
    """The records whose marks are sound, and those marks `[n, replicas, 3]`."""
    try:
        marks = np.array([record["marks_ns"] for record in records])
        is_sound = marks.dtype == np.int64 and marks.shape == (len(records), num_replicas, 3)
    except ValueError:  # of different lengths
        is_sound = False
    if not is_sound:
        records = [record for record in records if _are_marks(record["marks_ns"])]
        marks = np.array([record["marks_ns"] for record in records], np.int64)
    return records, marks.reshape(len(records), num_replicas, 3)


def _times(record: Record) -> tuple[int, int, int]:
    """Start, length and input of the step."""
    start = record.get("start_ns")
    start = start if type(start) is int and 0 <= start < 2**63 else UNKNOWN
    return start, _length(record.get("wall_ms")), max(_length(record.get("input_ms")), 0)


def _length(length_ms: Any) -> int:
    is_length = isinstance(length_ms, int | float) and 0 <= length_ms < _LONGEST_MS
    return round(length_ms * 1e6) if is_length else UNKNOWN


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**31


def _are_marks(marks: Any) -> bool:
    return isinstance(marks, list) and all(
        isinstance(mark, list)
        and len(mark) == 3
        and all(type(at_ns) is int and 0 <= at_ns < 2**63 for at_ns in mark)
        for mark in marks
    )
