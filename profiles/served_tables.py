"""Tables of runs with parameter servers: `closures` (who did which step, and how) and `served`
(what sits on which server, and what a step moves).

A closure's parts are told by the clock of the worker that did it; what lies between that clock and
the coordinator's (the queue before it, the way back after it) is null where the two cannot be
compared. Rows that anyone may have damaged are left out and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from strategy_lab.profiles.clocks import Clocks
from strategy_lab.profiles.events import ClosureDone, VariablesServed
from strategy_lab.profiles.records import as_event, is_text
from strategy_lab.profiles.schema import TABLES
from strategy_lab.profiles.sources import EventSource

Floats = npt.NDArray[np.float64]

NUM_MARKS = 5
"""Start, inputs ready, pulled, gradients ready, pushed."""
_PARTS = ("input_ms", "pull_ms", "compute_ms", "push_ms")


def closures_table(sources: Sequence[EventSource], clocks: Clocks) -> tuple[pa.Table, int]:
    """One row per closure, and how many records were unusable."""
    records = [record for source in sources for record in source.of_kind(ClosureDone.kind)]
    events = [event for record in records if (event := as_event(record, ClosureDone))]
    sound = [event for event in events if _is_sound(event)]
    latest = {(event.segment, event.step): event for event in sound}  # a go-back does steps anew
    found = list(latest.values())
    worker = np.array([event.worker for event in found], np.int64)
    marks = np.array([_floats(event.marks_ns) for event in found]).reshape(-1, NUM_MARKS)
    base = np.array([event.scheduled_ns for event in found], np.int64)
    # Lengths as floats of ns since the closure was scheduled: exact far beyond a run's length.
    start_ns = np.array([event.marks_ns[0] for event in found], np.int64)
    start_ns = clocks.all_to_reference(worker, start_ns)
    finished = np.array([event.finished_ns for event in found], np.int64)
    busy_ns = marks[:, -1]
    # The coordinator's clock is the reference's: it is the first process.
    is_known = clocks.groups(worker) == clocks.groups(np.zeros_like(worker))
    lengths = np.diff(marks, axis=1) / 1e6
    columns: dict[str, Any] = {
        "segment": [event.segment for event in found],
        "step": [event.step for event in found],
        "worker": worker.astype(np.int32),
        "scheduled_ns": base,
        "start_ns": start_ns,
        "finished_ns": finished,
        "wall_ms": np.maximum(busy_ns, 0) / 1e6,
        "queue_ms": _known((start_ns - base) / 1e6, is_known),
        **{
            name: _known(lengths[:, i], np.isfinite(lengths[:, i])) for i, name in enumerate(_PARTS)
        },
        "return_ms": _known((finished - start_ns - busy_ns) / 1e6, is_known),
    }
    return pa.table(columns, schema=TABLES["closures"]), len(records) - len(found)


def served_table(sources: Sequence[EventSource]) -> tuple[pa.Table, int]:
    """One row per variable, or part of one, and how many were unusable."""
    rows: list[dict[str, Any]] = []
    num_bad = 0
    for record in (r for source in sources for r in source.of_kind(VariablesServed.kind)):
        event = as_event(record, VariablesServed)
        if event is None:
            num_bad += 1
            continue
        for variable in event.variables:
            row = _row(event, variable)
            num_bad += row is None
            rows += [] if row is None else [row]
    return pa.Table.from_pylist(rows, schema=TABLES["served"]), num_bad


def _row(event: VariablesServed, variable: dict[str, Any]) -> dict[str, Any] | None:
    index = variable.get("server")
    if not (type(index) is int and 0 <= index < len(event.servers)):
        return None
    server = event.servers[index]
    row = {
        "segment": event.segment,
        "server": index,
        "process": server.get("process"),
        "device": server.get("device"),
        "shape": str(variable.get("shape")),
        **{name: variable.get(name) for name in ("name", "role")},
        **{name: variable.get(name) for name in ("bytes", "part", "num_parts")},
        **{name: variable.get(name) for name in ("pull_bytes", "push_bytes")},
    }
    fits = all(_fits(row[field.name], field.type) for field in TABLES["served"])
    is_whole = all(row[name] is not None for name in ("name", "role", "process", "bytes"))
    return row if fits and is_whole else None


def _fits(value: object, kind: pa.DataType) -> bool:
    if value is None:
        return True
    if kind == pa.string():
        return is_text(value)
    limit = 2**31 if kind == pa.int32() else 2**63
    return type(value) is int and -limit <= value < limit


def _is_sound(event: ClosureDone) -> bool:
    marks = event.marks_ns
    times = [event.scheduled_ns, event.finished_ns, *(mark for mark in marks if mark is not None)]
    return (
        len(marks) == NUM_MARKS
        and marks[0] is not None
        and marks[-1] is not None
        and all(0 <= at_ns < 2**62 for at_ns in times)
        and 0 <= event.worker < 2**31
        and 0 <= event.segment < 2**31
    )


def _floats(marks_ns: Sequence[int | None]) -> list[float]:
    """Marks in ns since the first one; NaN where there is none."""
    first = marks_ns[0] or 0
    return [float("nan") if mark is None else float(mark - first) for mark in marks_ns]


def _known(values: Floats, is_known: npt.NDArray[np.bool_]) -> pa.Array:
    """Lengths, not below 0; null where they are not known."""
    return pa.array(np.maximum(values, 0.0), pa.float64(), mask=~is_known)
