"""Tables of runs with parameter servers.

`closures` has the phases of each step and the worker that ran it; `served` has the server of each
variable and the bytes a step moves.

The phases of a closure are measured by its worker's clock. Durations between that clock and the
coordinator's (the queue before it, the return after it) are null if the two cannot be compared.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from strategy_profiles.clocks.estimate import Clocks
from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.event_parts import ServedVariable
from strategy_profiles.run.events import ClosureDone, SegmentOpened, VariablesServed
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.schema import TABLES

SERVED_PARTS = ("input", "pull", "compute", "delay", "push")
"""What a worker does in a step, one after the other. All but the delay that the lab injected lie
between two marks of a closure; the delay comes from the spec, and compute is without it."""
_COMPUTE = SERVED_PARTS.index("compute")


def closures_table(
    sources: Sequence[EventSource], clocks: Clocks, segments: Sequence[SegmentOpened]
) -> pa.Table:
    """Return one row per closure."""
    events = [event for source in sources for event in source.of_kind(ClosureDone)]
    latest = {(event.segment, event.step): event for event in events}  # the last of repeated steps
    closures = list(latest.values())
    worker = np.array([event.worker for event in closures], np.int64)
    marks = np.array([_floats(event.marks_ns) for event in closures]).reshape(-1, len(SERVED_PARTS))
    injected = {segment.segment: injected_delays(segment) for segment in segments}
    delays = [injected.get(event.segment, {}).get(event.worker - 1, 0.0) for event in closures]
    base = np.array([event.scheduled_ns for event in closures], np.int64)
    # float64 ns since the closure's start: exact for durations far longer than a run.
    start_ns = np.array([event.marks_ns[0] for event in closures], np.int64)
    start_ns = clocks.all_to_reference(worker, start_ns)
    finished = np.array([event.finished_ns for event in closures], np.int64)
    busy_ns = marks[:, -1]
    # The coordinator is the first process, so its clock is the reference clock.
    is_known = clocks.groups(worker) == clocks.groups(np.zeros_like(worker))
    lengths = np.maximum(np.diff(marks, axis=1) / 1e6, 0.0)
    delay = np.minimum(np.array(delays), lengths[:, _COMPUTE])
    lengths[:, _COMPUTE] -= delay
    lengths = np.insert(lengths, _COMPUTE + 1, delay, axis=1)
    columns: dict[str, Any] = {
        "segment": [event.segment for event in closures],
        "step": [event.step for event in closures],
        "worker": worker.astype(np.int32),
        "scheduled_ns": base,
        "start_ns": start_ns,
        "finished_ns": finished,
        "wall_ms": np.maximum(busy_ns, 0) / 1e6,
        "queue_ms": _lengths_or_null((start_ns - base) / 1e6, is_known),
        **{
            f"{part}_ms": _lengths_or_null(lengths[:, i], np.isfinite(lengths[:, i]))
            for i, part in enumerate(SERVED_PARTS)
        },
        "return_ms": _lengths_or_null((finished - start_ns - busy_ns) / 1e6, is_known),
    }
    return pa.table(columns, schema=TABLES["closures"])


def parts_ms(closure: ClosureDone, delay_ms: float) -> tuple[float, ...] | None:
    """The lengths of a closure's `SERVED_PARTS`; None if one was not measured.

    `delay_ms` is the delay that the lab injected into its worker.
    """
    times = [mark for mark in closure.marks_ns if mark is not None]
    if len(times) < len(closure.marks_ns):
        return None
    parts = [max(0, after - before) / 1e6 for before, after in itertools.pairwise(times)]
    delay_ms = min(delay_ms, parts[_COMPUTE])
    parts[_COMPUTE] -= delay_ms
    parts.insert(_COMPUTE + 1, delay_ms)
    return tuple(parts)


def served_table(sources: Sequence[EventSource]) -> pa.Table:
    """Return one row per variable or shard that is on a server."""
    rows = [
        _row(event, variable, variable.server)
        for source in sources
        for event in source.of_kind(VariablesServed)
        for variable in event.variables
        if variable.server is not None
    ]
    return pa.Table.from_pylist(rows, schema=TABLES["served"])


def _row(event: VariablesServed, variable: ServedVariable, index: int) -> dict[str, Any]:
    server = event.servers[index]
    return {
        "segment": event.segment,
        "server": index,
        "process": server.process,
        "device": server.device,
        "shape": str(variable.shape),
        "name": variable.name,
        "role": variable.role,
        "bytes": variable.bytes,
        "part": variable.part,
        "num_parts": variable.num_parts,
        "pull_bytes": variable.pull_bytes,
        "push_bytes": variable.push_bytes,
    }


def _floats(marks_ns: Sequence[int | None]) -> list[float]:
    """Return the marks in ns since the first one; NaN for a missing mark."""
    first = marks_ns[0] or 0
    return [float("nan") if mark is None else float(mark - first) for mark in marks_ns]


def _lengths_or_null(values: Floats, is_known: npt.NDArray[np.bool_]) -> pa.Array:
    """Return lengths clamped at 0; null if unknown."""
    return pa.array(np.maximum(values, 0.0), pa.float64(), mask=~is_known)
