"""The `marks` table: light per-replica times of every step, from in-graph timestamps.

Per replica a step carries `[inputs_ready, gradients_ready, reduced]` in ns of its host's wall
clock. compute = gradients ready - inputs ready; wait = last replica's gradients ready - own;
reduce = own reduced - last replica's gradients ready; each clamped at 0. Workers are compared
only where they share a host, and so a clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from profiles.events import SegmentOpened
from profiles.schema import TABLES
from profiles.sources import EventSource, Record

Ints = npt.NDArray[np.int64]


def marks_table(
    sources: Sequence[EventSource], segments: Sequence[SegmentOpened]
) -> tuple[pa.Table, int]:
    """One row per step and replica that has marks, and how many records were unusable."""
    layout = {segment.segment: segment for segment in segments}
    clocks = _clocks(sources)
    blocks: list[Ints] = []
    num_bad = 0
    for source in sources:
        if source.worker is None:
            continue
        records = [record for record in source.of_kind("step") if record.get("marks_ns")]
        block, bad = _block(records, source.worker, clocks[source.worker], layout)
        blocks.append(block)
        num_bad += bad
    rows = np.concatenate(blocks) if blocks else np.empty((0, 8), np.int64)
    return _as_table(rows, layout), num_bad


def _clocks(sources: Sequence[EventSource]) -> dict[int, int]:
    """The same number for workers on the same host."""
    hosts: dict[object, int] = {}
    clocks: dict[int, int] = {}
    for source in sources:
        if source.worker is None:
            continue
        name: object = ("unknown host of worker", source.worker)
        for record in source.of_kind("environment"):
            host = record.get("host")
            if isinstance(host, Mapping) and isinstance(host.get("name"), str):
                name = host["name"]
        clocks[source.worker] = hosts.setdefault(name, len(hosts))
    return clocks


def _block(
    records: Sequence[Record], worker: int, clock: int, layout: Mapping[int, SegmentOpened]
) -> tuple[Ints, int]:
    """Rows `[segment, step, worker, replica, clock, inputs, gradients, reduced]`."""
    alike: dict[tuple[int, int], list[Record]] = {}
    num_bad = 0
    for record in records:
        segment, marks = record.get("segment"), record["marks_ns"]
        if _is_count(segment) and _is_count(record.get("step")) and isinstance(marks, list):
            alike.setdefault((segment, len(marks)), []).append(record)
        else:
            num_bad += 1
    blocks = [np.empty((0, 8), np.int64)]
    for (segment, num_replicas), group in alike.items():
        opened = layout.get(segment)
        # A worker names its own replicas from 0; the first of them has this global number.
        is_all = opened is None or num_replicas == opened.num_replicas
        first = 0 if is_all else worker * num_replicas
        steps, marks_ns = _stacked(group, num_replicas)
        num_bad += len(group) - len(steps)
        shape = (len(steps), num_replicas)
        replica = first + np.arange(num_replicas)
        known = (segment, steps[:, None], worker, replica, clock)
        columns = [np.broadcast_to(np.asarray(value, np.int64), shape) for value in known]
        blocks.append(np.stack([*columns, *np.moveaxis(marks_ns, 2, 0)], axis=-1).reshape(-1, 8))
    return np.concatenate(blocks), num_bad


def _stacked(records: list[Record], num_replicas: int) -> tuple[Ints, Ints]:
    """Steps `[n]` and marks `[n, replicas, 3]` of the records whose marks are sound."""
    try:
        marks = np.array([record["marks_ns"] for record in records])
        is_sound = marks.dtype == np.int64 and marks.shape == (len(records), num_replicas, 3)
    except ValueError:  # of different lengths
        is_sound = False
    if not is_sound:
        records = [record for record in records if _are_marks(record["marks_ns"])]
        marks = np.array([record["marks_ns"] for record in records], np.int64)
    steps = np.array([record["step"] for record in records], np.int64)
    return steps, marks.reshape(len(records), num_replicas, 3)


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 2**31


def _are_marks(marks: Any) -> bool:
    return isinstance(marks, list) and all(
        isinstance(mark, list)
        and len(mark) == 3
        and all(type(at_ns) is int and 0 <= at_ns < 2**63 for at_ns in mark)
        for mark in marks
    )


def _as_table(rows: Ints, layout: Mapping[int, SegmentOpened]) -> pa.Table:
    segment, step, worker, replica, clock, inputs, gradients, reduced = rows.T
    # One group per step and clock: those who can be compared.
    _, part = np.unique(segment, return_inverse=True)
    moment = (part * (clock.max(initial=0) + 1) + clock) * (step.max(initial=0) + 1) + step
    _, group = np.unique(moment, return_inverse=True)
    last = np.zeros(int(group.max(initial=-1)) + 1, np.int64)
    np.maximum.at(last, group, gradients)
    last = last[group]
    columns = {
        "segment": segment.astype(np.int32),
        "step": step,
        "worker": worker.astype(np.int32),
        "replica": replica.astype(np.int32),
        "device": _devices(segment, replica, layout),
        "compute_ms": _ms(gradients - inputs),
        "wait_ms": _ms(last - gradients),
        "reduce_ms": _ms(reduced - last),
        "start_ns": inputs,
    }
    return pa.table(columns, schema=TABLES["marks"])


def _ms(length_ns: Ints) -> npt.NDArray[np.float64]:
    return np.maximum(length_ns, 0) / 1e6


def _devices(segments: Ints, replicas: Ints, layout: Mapping[int, SegmentOpened]) -> pa.Array:
    pairs, place = np.unique(segments << 32 | replicas, return_inverse=True)
    names: list[str | None] = []
    for pair in pairs.tolist():
        opened, replica = layout.get(pair >> 32), pair & 0xFFFFFFFF
        known = opened.replica_devices if opened else []
        names.append(known[replica] if replica < len(known) else None)
    return pa.array(names, pa.string()).take(pa.array(place))
