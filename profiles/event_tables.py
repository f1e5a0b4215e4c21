"""Tables made from events: segments, steps, memory, links.

Rows come as plain mappings from files that anyone may have written or cut: a row that does not
fit its table is left out and counted, never raised.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from strategy_lab.profiles.events import Retraced, SegmentOpened
from strategy_lab.profiles.link_rows import link_rows
from strategy_lab.profiles.records import as_event, is_text
from strategy_lab.profiles.schema import TABLES
from strategy_lab.profiles.sources import EventSource, Record

_REQUIRED = {
    "segments": ("segment", "strategy", "num_replicas", "first_step"),
    "steps": ("segment", "step", "start_ns", "wall_ms"),
    "memory": ("worker", "device", "step", "bytes_in_use"),
    "links": ("worker", "generation", "at_ns", "bytes", "source"),
}
MOST_WORKERS = 4096
"""A segment that tells of more is damaged: whoever lists its workers would fill the memory."""
_LONGEST_MS = 2**62 / 1e6
_INT_LIMIT = {pa.int32(): 2**31, pa.int64(): 2**63}


def read_segments(sources: Sequence[EventSource]) -> tuple[SegmentOpened, ...]:
    """Every segment once, in order; the lowest worker's word counts."""
    found: dict[int, SegmentOpened] = {}
    for source in sources:
        for record in source.of_kind(SegmentOpened.kind):
            segment = as_event(record, SegmentOpened)
            if segment is not None and segment.num_workers <= MOST_WORKERS:
                found.setdefault(segment.segment, segment)
    return tuple(found[number] for number in sorted(found))


def segments_table(segments: Sequence[SegmentOpened]) -> tuple[pa.Table, int]:
    rows = [
        {
            name: json.dumps(segment.spec) if name == "spec" else getattr(segment, name)
            for name in TABLES["segments"].names
        }
        for segment in segments
    ]
    return _table("segments", rows)


def steps_table(sources: Sequence[EventSource]) -> tuple[pa.Table, int]:
    """One row per step: as the lowest worker saw it, and its latest process."""
    traced = _traced(sources)
    rows: dict[tuple[Any, Any], Record] = {}
    writer: dict[tuple[Any, Any], int | None] = {}
    for source in sources:
        for record in source.of_kind("step"):
            key = (_hashable(record.get("segment")), _hashable(record.get("step")))
            if writer.setdefault(key, source.worker) == source.worker:
                rows[key] = {**record, "traced": key in traced}
    lasting = [row for row in rows.values() if _can_last(row.get("wall_ms"))]
    table, num_bad = _table("steps", lasting)
    return table, num_bad + len(rows) - len(lasting)


def _traced(sources: Sequence[EventSource]) -> set[tuple[Any, Any]]:
    """The (segment, step) in which a program is traced: the first that each process does of a
    segment, and those in which the recorder saw a function traced again."""
    at = {"segment": "first_step", Retraced.kind: "step"}
    return {
        (_hashable(record.get("segment")), _hashable(record.get(name)))
        for source in sources
        for kind, name in at.items()
        for record in source.of_kind(kind)
    }


def _can_last(wall_ms: object) -> bool:
    """Whether a step can have taken so long: nanoseconds of it are a whole number of 64 bits."""
    return not isinstance(wall_ms, int | float) or 0 <= wall_ms < _LONGEST_MS


def memory_table(sources: Sequence[EventSource]) -> tuple[pa.Table, int]:
    rows = [
        {**record, "worker": source.worker}
        for source in sources
        for record in source.of_kind("memory")
    ]
    return _table("memory", rows)


def links_table(sources: Sequence[EventSource]) -> tuple[pa.Table, int]:
    """Two rows per link and sample, one for each direction."""
    return _table("links", [row for source in sources for row in link_rows(source)])


def _hashable(value: object) -> object:
    return value if isinstance(value, int) else repr(value)


def _table(name: str, rows: Iterable[Record]) -> tuple[pa.Table, int]:
    """The rows that fit the table's schema, and how many did not."""
    schema, required, every = TABLES[name], _REQUIRED[name], list(rows)
    try:
        table = pa.Table.from_pylist(every, schema=schema)
        if not any(table[column].null_count for column in required):
            return table, 0
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        pass
    good = [row for row in every if _row_fits(row, schema, required)]
    return pa.Table.from_pylist(good, schema=schema), len(every) - len(good)


def _row_fits(row: Record, schema: pa.Schema, required: tuple[str, ...]) -> bool:
    if any(row.get(column) is None for column in required):
        return False
    return all(_value_fits(row.get(item.name), item.type) for item in schema)


def _value_fits(value: object, kind: pa.DataType) -> bool:
    if value is None:
        return True
    if kind == pa.bool_():
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == pa.string():
        return is_text(value)
    if kind == pa.float64():
        return isinstance(value, float) or (isinstance(value, int) and abs(value) < 2**53)
    return isinstance(value, int) and abs(value) < _INT_LIMIT[kind]
