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
import numpy.typing as npt

from strategy_profiles.reporting.palette import replica_colour
from strategy_profiles.tables.columns import Ints, sorted_distinct
from strategy_profiles.timeline import Timeline, Track
from strategy_report.facts import RunFacts

UNIT_NS = 100
MAX_SPANS_OF_ONE = 60_000
"""Limit for a single stretch, reached only if one step alone has more spans."""

Entry = tuple[str, str, str]
"""Name, op and phase of a span."""


@dataclass(frozen=True, slots=True)
class _Spans:
    """Spans in order of their start: columns of the same length."""

    start: Ints
    """In ns since the timeline's origin, as `end`."""
    end: Ints
    row: Ints
    entry: Ints
    """A number of `pack_spans`' sorted entries."""


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
    chosen = [np.flatnonzero(np.isin(timeline.step, steps)) for steps in stretches]
    kept = [_longest(timeline, spans) for spans in chosen]
    read, entries = _with_entries(timeline, [_read(timeline, rows, spans) for spans in kept])
    ops = sorted({op for _, op, _ in entries})
    phases = sorted({phase for _, _, phase in entries})
    return Packed(
        document={
            "ops": ops,
            "categories": phases,
            "names": _encode_names(entries, ops, phases),
            "stretches": [
                _pack_stretch(facts, timeline, spans, steps)
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


def _read(timeline: Timeline, rows: Ints, spans: Ints) -> npt.NDArray[np.int64]:
    """Return the chosen spans, collectives split in two parts.

    Returns columns: start, end, row, and the numbers of name, op and phase. Phases are numbered in
    the order of the timeline's categories, followed by `wait` and `transfer`.
    """
    columns = (timeline.start, timeline.end, rows, timeline.name, timeline.op, timeline.category)
    read = np.stack([column[spans].astype(np.int64) for column in columns])
    kinds = timeline.categories
    is_whole = read[5] != (kinds.index("collective") if "collective" in kinds else -1)
    split = read[:, ~is_whole]
    waited = np.maximum(timeline.waited(spans[~is_whole]), 0)
    arrived = np.minimum(split[0] + waited, split[1])
    begun, moved = split.copy(), split.copy()
    begun[1] = moved[0] = arrived
    begun[5], moved[5] = len(kinds), len(kinds) + 1
    parts = [read[:, is_whole], begun[:, arrived > split[0]], moved[:, split[1] > arrived]]
    return np.concatenate(parts, axis=1)


def _with_entries(
    timeline: Timeline, read: Sequence[npt.NDArray[np.int64]]
) -> tuple[list[_Spans], list[Entry]]:
    """Return the spans of each stretch, and the distinct entries of all, sorted."""
    phases = [*(name or "other" for name in timeline.categories), "wait", "transfer"]
    codes = [(name * len(timeline.ops) + op) * len(phases) + phase for *_, name, op, phase in read]
    distinct = sorted_distinct(np.concatenate(codes))
    others, phase = np.divmod(distinct, len(phases))
    name, op = np.divmod(others, len(timeline.ops))
    known = [
        (timeline.names[n], timeline.ops[o], phases[p])
        for n, o, p in zip(name.tolist(), op.tolist(), phase.tolist(), strict=True)
    ]
    entries = sorted(set(known))
    numbers = {entry: number for number, entry in enumerate(entries)}
    entry_of = np.array([numbers[entry] for entry in known], np.int64)
    parts = []
    for (start, end, row, *_), code in zip(read, codes, strict=True):
        entry = entry_of[np.searchsorted(distinct, code)]
        order = np.lexsort((entry, row, end, start))
        parts.append(_Spans(start[order], end[order], row[order], entry[order]))
    return parts, entries


def _pack_stretch(
    facts: RunFacts, timeline: Timeline, spans: _Spans, steps: Sequence[int]
) -> dict[str, Any]:
    """Return one stretch as the page reads it, with times relative to its first span.

    Rows of the timeline that have no span in this stretch are left out; the others are numbered
    from 0 as lanes. A track whose rows are all left out has no entry in `rows`.
    """
    # A stretch of collectives of length 0 has no spans.
    origin = int(spans.start[0]) if len(spans.start) else _first_start(timeline, steps)
    rows, lanes = np.unique(spans.row, return_inverse=True)
    lane_of = {row: lane for lane, row in enumerate(rows.tolist())}
    tracks = [(track, _num_lanes(track, lane_of)) for track in _in_order(timeline.tracks)]
    return {
        "rows": [_track_entry(facts, track, lane_of, count) for track, count in tracks if count],
        "num_lanes": len(lane_of),
        "steps": _step_bounds(timeline, steps, origin),
        "spans": _encode_spans(spans, origin, lanes),
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


def _encode_spans(spans: _Spans, origin: int, lanes: Ints) -> str:
    """Return the spans as varints (see the module), in base64. `lanes` has the lane of each."""
    start = (spans.start - origin) // UNIT_NS
    length = np.maximum(1, np.rint((spans.end - spans.start) / UNIT_NS).astype(np.int64))
    values = np.stack([np.diff(start, prepend=0), length, lanes, spans.entry], axis=1)
    return base64.b64encode(_varints(values.ravel())).decode()


def _varints(values: Ints) -> bytes:
    """Return non-negative numbers as varints, one after the other."""
    groups = 7 * np.arange(9)
    num_bytes = np.maximum(1, np.sum(values[:, None] >> groups > 0, axis=1))
    data = np.empty(int(num_bytes.sum()), np.uint8)
    first = np.cumsum(num_bytes) - num_bytes
    for index in range(int(num_bytes.max(initial=0))):
        has_it = num_bytes > index
        is_followed = num_bytes[has_it] > index + 1
        data[first[has_it] + index] = values[has_it] >> 7 * index & 127 | is_followed << 7
    return data.tobytes()
