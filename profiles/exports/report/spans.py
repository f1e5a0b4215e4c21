"""Encodes op spans compactly for the page.

A span is four varints (base 128, least significant byte first, as in protocol buffers): start
relative to the previous span's start, length (both in units of 100 ns), row, name. Names are sorted
and stored once, each without the prefix that it shares with the previous one. A collective is two
spans: the wait for its last rank, and the transfer after it.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from strategy_lab.profiles.exports.report.facts import RunFacts
from strategy_lab.profiles.reporting.palette import replica_colour
from strategy_lab.profiles.tables.columns import Ints, floats, ints, texts
from strategy_lab.profiles.timeline import Timeline, Track
from strategy_lab.profiles.timeline.one_clock import table_on_one_clock

UNIT_NS = 100
MAX_SPANS_OF_ONE = 60_000
"""Limit for a single stretch, reached only if one step alone has more spans."""

Entry = tuple[str, str, str]
"""Name, op and phase of a span."""
Span = tuple[int, int, int, Entry]
"""Start and end in ns since the timeline's origin, row, and entry."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The data for the script, and the number of spans left out."""

    document: dict[str, Any]
    num_spans: int
    num_dropped: int


def pack_spans(facts: RunFacts, timeline: Timeline, stretches: Sequence[Sequence[int]]) -> Packed:
    """Pack each stretch, given as the numbers of consecutive steps: its rows, steps and spans.

    Names are stored once for all stretches.
    """
    rows = np.repeat(np.arange(timeline.num_rows), np.diff(timeline.row_starts))
    waits = _waits(facts, timeline, [step for steps in stretches for step in steps])
    chosen = [np.flatnonzero(np.isin(timeline.step, steps)) for steps in stretches]
    kept = [_longest(timeline, spans) for spans in chosen]
    read = [_read(timeline, rows, spans, waits) for spans in kept]
    entries = sorted({entry for spans in read for *_, entry in spans})
    entry_index = {entry: index for index, entry in enumerate(entries)}
    ops = sorted({op for _, op, _ in entries})
    phases = sorted({phase for _, _, phase in entries})
    return Packed(
        document={
            "ops": ops,
            "categories": phases,
            "names": _encode_names(entries, ops, phases),
            "stretches": [
                _pack_stretch(facts, timeline, spans, steps, entry_index)
                for spans, steps in zip(read, stretches, strict=True)
            ],
        },
        num_spans=sum(map(len, kept)),
        num_dropped=sum(map(len, chosen)) - sum(map(len, kept)),
    )


def _longest(timeline: Timeline, spans: Ints) -> Ints:
    """Return the spans, or only the longest ones if there are too many."""
    if len(spans) <= MAX_SPANS_OF_ONE:
        return spans
    lengths = timeline.end[spans] - timeline.start[spans]
    return np.sort(spans[np.argsort(-lengths, kind="stable")[:MAX_SPANS_OF_ONE]])


def _waits(facts: RunFacts, timeline: Timeline, steps: Sequence[int]) -> dict[tuple[str, int], int]:
    """Return each collective rank's wait for the last rank in ns, by name and start."""
    table = table_on_one_clock(facts.profile, "collectives")
    table = table.filter(pc.is_in(table["step"], pa.array(steps, pa.int64())))
    starts = (ints(table, "start_ns") - timeline.origin_ns).tolist()
    waits = (np.nan_to_num(floats(table, "wait_ms")) * 1e6).astype(np.int64).tolist()
    names = (name or "" for name in texts(table, "name"))
    return dict(zip(zip(names, starts, strict=True), waits, strict=True))


def _read(
    timeline: Timeline, rows: Ints, spans: Ints, waits: dict[tuple[str, int], int]
) -> list[Span]:
    """Return the chosen spans in order of their start, collectives split in two parts."""
    found: list[Span] = []
    columns = (timeline.start, timeline.end, rows, timeline.name, timeline.op, timeline.category)
    for start, end, row, name, op, category in zip(
        *(column[spans].tolist() for column in columns), strict=True
    ):
        word, kind = timeline.names[name], timeline.ops[op]
        phase = timeline.categories[category] or "other"
        if phase != "collective":
            found.append((start, end, row, (word, kind, phase)))
            continue
        arrived = min(start + waits.get((word, start), 0), end)
        if arrived > start:
            found.append((start, arrived, row, (word, kind, "wait")))
        if end > arrived:
            found.append((arrived, end, row, (word, kind, "transfer")))
    return sorted(found)


def _pack_stretch(
    facts: RunFacts,
    timeline: Timeline,
    spans: list[Span],
    steps: Sequence[int],
    entry_index: dict[Entry, int],
) -> dict[str, Any]:
    """Return one stretch as the page reads it, with times relative to its first span.

    Rows of the timeline that have no span in this stretch are left out; the others are numbered
    from 0 as lanes. A track whose rows are all left out has no entry in `rows`.
    """
    # The spans are in order of their start. A stretch of collectives of length 0 has none.
    origin = spans[0][0] if spans else _first_start(timeline, steps)
    lane_of = {row: lane for lane, row in enumerate(sorted({row for _, _, row, _ in spans}))}
    lanes = [(track, _num_lanes(track, lane_of)) for track in _in_order(timeline.tracks)]
    return {
        "rows": [_track_entry(facts, track, lane_of, count) for track, count in lanes if count],
        "num_lanes": len(lane_of),
        "steps": _step_bounds(timeline, steps, origin),
        "spans": _encode_spans(spans, origin, lane_of, entry_index),
    }


def _first_start(timeline: Timeline, steps: Sequence[int]) -> int:
    known = zip(timeline.steps["step"], timeline.steps["start"], strict=True)
    return min((start for step, start in known if step in steps), default=0)


def _in_order(tracks: Sequence[Track]) -> list[Track]:
    """Return the tracks of replicas by number, then the tracks without a replica."""
    return sorted(tracks, key=lambda track: (track.replica is None, track.replica, track.worker))


def _num_lanes(track: Track, lane_of: dict[int, int]) -> int:
    """Return how many of a track's rows have a lane."""
    return sum(row in lane_of for row in track.rows)


def _track_entry(
    facts: RunFacts, track: Track, lane_of: dict[int, int], count: int
) -> dict[str, Any]:
    """Return a track as the page reads it. `lane_of` has the lane of each row that has spans."""
    shared = track.replica is None
    device = facts.device(track.device) if not shared or track.device else "shared"
    process = facts.titles.get(track.worker, f"worker {track.worker}")
    label = process if shared else f"replica {track.replica}"
    return {
        "label": f"{label} (marks)" if track.is_marked else label,
        "device": device,
        "colour": None if track.replica is None else replica_colour(track.replica),
        "first_lane": min(lane_of[row] for row in track.rows if row in lane_of),
        "num_lanes": count,
    }


def _step_bounds(
    timeline: Timeline, steps: Sequence[int], origin: int
) -> list[tuple[int, int, int]]:
    """Return number, start and end of each step, in the unit of the spans."""
    wanted, captured = set(steps), timeline.steps
    return [
        (step, round((start - origin) / UNIT_NS), round((end - origin) / UNIT_NS))
        for step, start, end in zip(
            captured["step"], captured["start"], captured["end"], strict=True
        )
        if step in wanted
    ]


def _encode_names(entries: list[Entry], ops: list[str], phases: list[str]) -> list[list[Any]]:
    """Return `[length of the prefix shared with the previous name, rest, op, phase]` per entry."""
    op_at = {op: index for index, op in enumerate(ops)}
    phase_at = {phase: index for index, phase in enumerate(phases)}
    return [
        [shared := _num_shared(last, name), name[shared:], op_at[op], phase_at[phase]]
        for (last, _, _), (name, op, phase) in pairwise([("", "", ""), *entries])
    ]


def _num_shared(last: str, name: str) -> int:
    pairs = zip(last, name, strict=False)
    differ = (at for at, (a, b) in enumerate(pairs) if a != b)
    return next(differ, min(len(last), len(name)))


def _encode_spans(
    spans: list[Span], origin: int, lane_of: dict[int, int], entry_index: dict[Entry, int]
) -> str:
    """Return the spans as varints (see the module), in base64."""
    data, last = bytearray(), 0
    for start_ns, end_ns, row, entry in spans:
        start = (start_ns - origin) // UNIT_NS
        length = max(1, round((end_ns - start_ns) / UNIT_NS))
        for value in (start - last, length, lane_of[row], entry_index[entry]):
            _append_varint(data, value)
        last = start
    return base64.b64encode(data).decode()


def _append_varint(data: bytearray, value: int) -> None:
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
