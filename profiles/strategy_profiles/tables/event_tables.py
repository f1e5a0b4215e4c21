"""Tables built from events: segments, steps, memory, links."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import (
    Imported,
    ResourcesSampled,
    Retraced,
    SegmentOpened,
)
from strategy_profiles.run.field_columns import UNKNOWN, Bools, Ints
from strategy_profiles.run.memory_columns import MemoryColumns
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.tables.link_rows import link_rows
from strategy_profiles.tables.schema import TABLES


def read_segments(sources: Sequence[EventSource]) -> tuple[SegmentOpened, ...]:
    """Return every segment once, in order, as recorded by the worker with the lowest number.

    A program whose batches are known once they have arrived records their size with its steps.
    """
    segments: dict[int, SegmentOpened] = {}
    for source in sources:
        for segment in source.of_kind(SegmentOpened):
            if segment.segment not in segments:
                segments[segment.segment] = _with_batch_of_steps(segment, source.steps)
    return tuple(segments[number] for number in sorted(segments))


def _with_batch_of_steps(segment: SegmentOpened, steps: StepColumns) -> SegmentOpened:
    """Return the segment with the examples of most of its steps if it opened without a size.

    If no size is that of most steps, as of batches by number of tokens, they vary by design.
    """
    if segment.global_batch_size is not None:
        return segment
    examples = steps.examples[(steps.segment == segment.segment) & (steps.examples != UNKNOWN)]
    if not len(examples):
        return segment
    sizes, counts = np.unique(examples, return_counts=True)
    if len(sizes) > 2 and 2 * counts.max() < len(examples):
        return msgspec.structs.replace(
            segment,
            global_batch_size=int(np.median(examples)),
            batch_sizes=(int(sizes[0]), int(sizes[-1])),
        )
    most = sizes[counts == counts.max()][-1]  # an epoch of two batches: the full one
    return msgspec.structs.replace(segment, global_batch_size=int(most))


def segments_table(segments: Sequence[SegmentOpened]) -> pa.Table:
    """Return one row per segment: each configuration the run used."""
    rows = [
        {
            name: json.dumps(segment.spec) if name == "spec" else getattr(segment, name)
            for name in TABLES["segments"].names
        }
        for segment in segments
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["segments"])


def steps_table(sources: Sequence[EventSource]) -> pa.Table:
    """Return one row per step, as recorded by the latest process of the lowest-numbered worker."""
    tables, seen, traced = [], _RecordedSteps(), _traced(sources)
    by_worker: dict[int | None, list[StepColumns]] = {}
    for source in sources:
        by_worker.setdefault(source.worker, []).append(source.steps)
    for parts in by_worker.values():
        steps = StepColumns.together(parts)
        chosen = seen.new(steps)
        if chosen.any():
            tables.append(_step_rows(steps, chosen, traced))
    return pa.concat_tables(tables) if tables else TABLES["steps"].empty_table()


def _traced(sources: Sequence[EventSource]) -> tuple[Ints, Ints]:
    """Return the segments and steps in which a program is traced.

    These are the first step of each process in each segment, and those in which the recorder
    detected retracing.
    """
    is_imported = any(source.of_kind(Imported) for source in sources)
    first = [
        (opened.segment, opened.first_step)
        for source in sources
        if not is_imported  # other programs do not begin with the first step of their profile
        for opened in source.of_kind(SegmentOpened)
    ]
    again = [
        (event.segment, event.step) for source in sources for event in source.of_kind(Retraced)
    ]
    segment, step = np.array(first + again, np.int64).reshape(-1, 2).T
    return segment, step


class _RecordedSteps:
    """The steps that a worker with a lower number has already recorded."""

    def __init__(self) -> None:
        self._known: list[tuple[Ints, Ints]] = []

    def new(self, steps: StepColumns) -> Bools:
        """Return a mask of the last row of each new step.

        A run that goes back to an earlier state repeats steps.
        """
        segment, step = steps.segment, steps.step
        own = _is_last(segment, step)
        for known_segment, known_step in self._known:
            own &= ~_is_among(segment, step, known_segment, known_step)
        self._known.append((segment[own], step[own]))
        return own


def _is_last(segment: Ints, step: Ints) -> Bools:
    """Return whether no later row is of the same step, for each row."""
    is_rising = (np.diff(segment) > 0) | ((np.diff(segment) == 0) & (np.diff(step) > 0))
    if is_rising.all():
        return np.ones(len(step), np.bool_)
    order = np.lexsort((np.arange(len(step)), step, segment))
    same = (np.diff(segment[order]) == 0) & (np.diff(step[order]) == 0)
    last = np.ones(len(step), np.bool_)
    last[order[:-1][same]] = False
    return last


def _is_among(segment: Ints, step: Ints, in_segment: Ints, in_step: Ints) -> Bools:
    is_among = np.zeros(len(step), np.bool_)
    for number in np.unique(segment).tolist():
        mine = segment == number
        is_among[mine] = np.isin(step[mine], in_step[in_segment == number])
    return is_among


def _step_rows(steps: StepColumns, chosen: Bools, traced: tuple[Ints, Ints]) -> pa.Table:
    if not chosen.all():
        steps = steps.only(chosen)
    columns: dict[str, Any] = {
        "segment": steps.segment.astype(np.int32),
        "step": steps.step,
        "start_ns": steps.start_ns,
        "wall_ms": steps.wall_ms,
        "loss": pa.array(steps.loss, mask=np.isnan(steps.loss)),
        "examples": pa.array(steps.examples, mask=steps.examples == UNKNOWN),
        "captured": steps.captured,
        "input_ms": pa.array(steps.input_ms, mask=np.isnan(steps.input_ms)),
        "traced": _is_among(steps.segment, steps.step, *traced),
    }
    return pa.table(columns, schema=TABLES["steps"])


def memory_table(sources: Sequence[EventSource]) -> pa.Table:
    """Return one row per sample of a worker's memory."""
    written = [source for source in sources if source.worker is not None]
    samples = MemoryColumns.together([source.memory for source in written])
    workers = np.array([source.worker for source in written], np.int32)
    columns: dict[str, Any] = {
        "worker": workers.repeat([len(source.memory) for source in written]),
        "device": pa.array(samples.devices, pa.string()).take(pa.array(samples.device)),
        "step": samples.step,
        "bytes_in_use": samples.bytes_in_use,
        "peak_bytes": pa.array(samples.peak_bytes, mask=samples.peak_bytes == UNKNOWN),
        "source": pa.array(samples.sources, pa.string()).take(pa.array(samples.source)),
    }
    return pa.table(columns, schema=TABLES["memory"])


def resources_table(sources: Sequence[EventSource]) -> pa.Table:
    """Return one row per sample of the CPUs and process of the run."""
    rows = [
        {
            "at_ns": event.at_ns,
            "interval_ms": event.interval_ms,
            "worker": process.worker,
            "generation": process.generation,
            "cores": process.cores,
            "resident_bytes": process.resident_bytes,
            "num_cores": event.num_cores,
            "busy_cores": event.busy_cores,
            "stolen_cores": event.stolen_cores,
        }
        for source in sources
        for event in source.of_kind(ResourcesSampled)
        for process in event.processes
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["resources"])


def links_table(sources: Sequence[EventSource]) -> pa.Table:
    """Return two rows per link and sample, one for each direction."""
    rows = [row for source in sources for row in link_rows(source)]
    return pa.Table.from_pylist(rows, schema=TABLES["links"])
