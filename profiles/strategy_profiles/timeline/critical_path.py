"""The critical path of a captured step on the rows of a timeline."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from strategy_profiles.step_graph.build import StepBuilder
from strategy_profiles.step_graph.critical_path import GAPS, Piece, critical_path
from strategy_profiles.step_graph.recording import Recording, ReplayError, read_recording, read_rows
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.layout import Timeline, since_origin


@dataclass(frozen=True, slots=True)
class PathPart:
    """A piece of the path: an op, a transfer, a request for a batch, or the gap before an op."""

    row: int | None
    """Row of the op's span; None if it has none, such as the step's end."""
    from_ns: int
    to_ns: int
    kind: str
    """`compute`, `delay`, `transfer`, `input`, `other`, `launch gap` or `late start`."""
    name: str
    op: str
    """Type of the op; of a launch gap that of the op after it."""
    span_ns: int | None
    """Start of the op's span."""


def path_of_step(profile: Profile, timeline: Timeline, step: int) -> list[PathPart]:
    """Return the parts of a captured step's path in order of time.

    Raises ReplayError if the step is not captured or has no graph.
    """
    recording = recording_of_step(profile, timeline, step)
    begin = since_origin(profile, timeline, step, recording.bounds[step][0])
    rows_of: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    for track in timeline.tracks:
        rows_of[track.replica, track.device] += track.rows
        rows_of[None, track.device] += track.rows
        if track.replica is None:
            rows_of[None, ""] += track.rows
    rows = read_rows(profile, recording.segment.segment, [step])
    pieces = critical_path(StepBuilder(recording, rows).build(step))
    return [_part(timeline, rows_of, piece, begin) for piece in pieces]


def recording_of_step(profile: Profile, timeline: Timeline, step: int) -> Recording:
    """Return what was recorded with a captured step.

    Raises ReplayError if the step is not captured or has no graph.
    """
    if step not in timeline.steps["step"]:
        raise ReplayError(f"Step {step} is not captured, so its critical path is not known")
    segment = timeline.steps["segment"][timeline.steps["step"].index(step)]
    recording = read_recording(profile, segment)
    if step not in recording.bounds:
        lacking = " or lacks timestamps of a worker" if recording.timed else ""
        raise ReplayError(f"Step {step} is traced{lacking}, so it has no critical path of ops")
    return recording


def _part(
    timeline: Timeline,
    rows_of: dict[tuple[int | None, str], list[int]],
    piece: Piece,
    begin_ns: int,
) -> PathPart:
    start, end = round(begin_ns + piece.start_ns), round(begin_ns + piece.end_ns)
    rows = rows_of.get((piece.replica, piece.device or ""), [])
    # A gap ends where its op begins.
    at_ns = end if piece.kind in GAPS else start
    row, span_ns = _span_around(timeline, rows, at_ns, piece.name) or (None, None)
    return PathPart(row, start, end, piece.kind, piece.name or piece.op, piece.op, span_ns)


def _span_around(
    timeline: Timeline, rows: list[int], at_ns: int, name: str
) -> tuple[int, int] | None:
    """Return row and start of the span that holds a time.

    Of several, that of this name, then the one that begins last.
    """
    spans: list[tuple[bool, int, int]] = []
    for row in rows:
        first, last = timeline.row_starts[row], timeline.row_starts[row + 1]
        at = first + int(np.searchsorted(timeline.start[first:last], at_ns, side="right")) - 1
        if at >= first and timeline.end[at] >= at_ns:
            is_named = timeline.names[timeline.name[at]] == name
            spans.append((is_named, int(timeline.start[at]), row))
    if not spans:
        return None
    _, start, row = max(spans, key=lambda each: each[:2])
    return row, start
