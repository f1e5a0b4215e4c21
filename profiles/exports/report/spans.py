"""Op spans as a page takes them: whole numbers in a few bytes each, names said once.

A span is four numbers in base-128 bytes (least significant first, as protocol buffers do):
start after the span before, length (both in units of 100 ns), lane, name. Names are sorted and
each leaves out what it shares with the one before.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from profiles.analysis.columns import floats, ints, of_segment, texts
from profiles.exports.lanes import pack
from profiles.exports.report.facts import RunFacts
from profiles.palette import replica_colour

UNIT_NS = 100
MAX_SPANS_OF_ONE = 60_000
"""Of a single stretch, where one step alone has more."""

Entry = tuple[str, str, str]
"""Name, op and phase of a span."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What the script reads, and what was left out."""

    document: dict[str, Any]
    num_spans: int
    num_dropped: int


@dataclass(slots=True)
class Span:
    """One span, or one part of a collective: the wait, or the transfer after it. Times in ns."""

    start_ns: int
    end_ns: int
    home: tuple[int, int]
    """Worker and replica; -1 is what serves all replicas."""
    entry: Entry
    device: str
    lane: int = 0


def pack_spans(
    facts: RunFacts, spans: pa.Table, stretches: Sequence[tuple[int, tuple[int, ...]]]
) -> Packed:
    """Every stretch (segment and steps) with its rows, steps and spans."""
    read = [_read(facts, spans, segment, steps) for segment, steps in stretches]
    kept = [_longest(found) for found in read]
    entries = sorted({span.entry for found in kept for span in found})
    number = {entry: index for index, entry in enumerate(entries)}
    ops = sorted({op for _, op, _ in entries})
    phases = sorted({phase for _, _, phase in entries})
    return Packed(
        document={
            "ops": ops,
            "categories": phases,
            "names": _folded(entries, ops, phases),
            "stretches": [
                _stretch(facts, found, segment, steps, number)
                for found, (segment, steps) in zip(kept, stretches, strict=True)
            ],
        },
        num_spans=sum(map(len, kept)),
        num_dropped=sum(map(len, read)) - sum(map(len, kept)),
    )


def _read(facts: RunFacts, spans: pa.Table, segment: int, steps: Sequence[int]) -> list[Span]:
    """The spans of some steps; a collective in two parts, as its wait is known."""
    own = of_segment(spans, segment)
    own = own.filter(pa.array(np.isin(ints(own, "step"), steps)))
    waits = _waits(facts, segment, steps)
    found: list[Span] = []
    columns = (ints(own, key).tolist() for key in ("worker", "replica", "start_ns", "duration_ns"))
    words = (texts(own, key) for key in ("name", "op", "category", "device"))
    for worker, replica, start, length, name, op, category, device in zip(
        *columns, *words, strict=True
    ):
        word, kind = name or "", op or ""
        span = Span(
            start,
            start + max(length, 1),
            (worker, replica),
            (word, kind, category or "other"),
            device or "",
        )
        if category == "collective":
            found += _parted(span, waits.get((worker, replica, name, start), 0))
        else:
            found.append(span)
    return found


def _parted(span: Span, wait_ns: int) -> list[Span]:
    """A collective's wait for its last rank, and the transfer after it."""
    name, op, _ = span.entry
    arrived_ns = min(span.start_ns + wait_ns, span.end_ns)
    parts = [
        replace(span, end_ns=arrived_ns, entry=(name, op, "wait")),
        replace(span, start_ns=arrived_ns, entry=(name, op, "transfer")),
    ]
    return [part for part in parts if part.end_ns > part.start_ns]


def _waits(facts: RunFacts, segment: int, steps: Sequence[int]) -> dict[tuple[Any, ...], int]:
    """How long each rank of a collective waited for the others, in ns."""
    rows = of_segment(facts.profile.table("collectives"), segment)
    rows = rows.filter(pa.array(np.isin(ints(rows, "step"), steps)))
    keys = zip(
        ints(rows, "worker").tolist(),
        ints(rows, "replica").tolist(),
        texts(rows, "name"),
        ints(rows, "start_ns").tolist(),
        strict=True,
    )
    waits = np.nan_to_num(floats(rows, "wait_ms")) * 1e6
    return dict(zip(keys, waits.astype(np.int64).tolist(), strict=True))


def _longest(spans: list[Span]) -> list[Span]:
    if len(spans) <= MAX_SPANS_OF_ONE:
        return spans
    return sorted(spans, key=lambda span: span.start_ns - span.end_ns)[:MAX_SPANS_OF_ONE]


def _stretch(
    facts: RunFacts,
    spans: list[Span],
    segment: int,
    steps: Sequence[int],
    number: dict[Entry, int],
) -> dict[str, Any]:
    spans.sort(key=lambda span: span.start_ns)
    origin_ns = spans[0].start_ns
    rows: list[dict[str, Any]] = []
    num_lanes = 0
    for home in sorted({span.home for span in spans}, key=lambda home: (home[1] < 0, home)):
        own = [span for span in spans if span.home == home]
        lanes = pack([span.start_ns for span in own], [span.end_ns for span in own])
        for span, lane in zip(own, lanes, strict=True):
            span.lane = num_lanes + lane
        rows.append(_row(facts, home, own[0].device, num_lanes, max(lanes) + 1))
        num_lanes += max(lanes) + 1
    return {
        "rows": rows,
        "num_lanes": num_lanes,
        "steps": _step_bounds(facts, segment, steps, origin_ns),
        "spans": _coded(spans, origin_ns, number),
    }


def _row(
    facts: RunFacts, home: tuple[int, int], device: str, first_lane: int, num_lanes: int
) -> dict[str, Any]:
    worker, replica = home
    is_shared = replica < 0
    return {
        "label": f"worker {worker}" if is_shared else f"replica {replica}",
        "device": "shared" if is_shared else facts.device(device),
        "colour": None if is_shared else replica_colour(replica),
        "first_lane": first_lane,
        "num_lanes": num_lanes,
    }


def _step_bounds(
    facts: RunFacts, segment: int, steps: Sequence[int], origin_ns: int
) -> list[tuple[int, int, int]]:
    """Number, start and end of each step, in the unit of the spans."""
    times = next(item.steps for item in facts.segments if item.segment.segment == segment)
    chosen = np.isin(times.step, steps) & np.isfinite(times.wall_ms)
    starts = (times.start_ns[chosen] - origin_ns) / UNIT_NS
    ends = starts + times.wall_ms[chosen] * 1e6 / UNIT_NS
    bounds = zip(times.step[chosen].tolist(), starts.tolist(), ends.tolist(), strict=True)
    return [(step, round(start), round(end)) for step, start, end in bounds]


def _folded(entries: list[Entry], ops: list[str], phases: list[str]) -> list[list[Any]]:
    """`[characters shared with the name before, the rest, op, phase]` of each entry."""
    op_at = {op: index for index, op in enumerate(ops)}
    phase_at = {phase: index for index, phase in enumerate(phases)}
    folded, last = [], ""
    for name, op, phase in entries:
        pairs = zip(last, name, strict=False)
        shared = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(last), len(name)))
        folded.append([shared, name[shared:], op_at[op], phase_at[phase]])
        last = name
    return folded


def _coded(spans: list[Span], origin_ns: int, number: dict[Entry, int]) -> str:
    data, last = bytearray(), 0
    for span in spans:
        start = (span.start_ns - origin_ns) // UNIT_NS
        length = max(1, round((span.end_ns - span.start_ns) / UNIT_NS))
        for value in (start - last, length, span.lane, number[span.entry]):
            _append(data, value)
        last = start
    return base64.b64encode(data).decode()


def _append(data: bytearray, value: int) -> None:
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
