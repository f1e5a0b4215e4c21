"""The critical path of a captured step on the rows of a timeline."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.replay.build import StepBuilder
from strategy_lab.profiles.replay.critical_path import LAUNCH, Piece, critical_path
from strategy_lab.profiles.replay.recording import read_recording
from strategy_lab.profiles.tables.store import Profile
from strategy_lab.profiles.timeline.layout import Timeline


@dataclass(frozen=True, slots=True)
class PathPart:
    """A piece of the path: an op, a transfer, a request for a batch, or the gap before an op."""

    row: int | None
    """Row of the op's span; None if it has none, such as the step's end."""
    from_ns: int
    to_ns: int
    kind: str
    """`compute`, `delay`, `transfer`, `input`, `other` or `launch gap`."""
    name: str


def path_of_step(profile: Profile, timeline: Timeline, step: int) -> list[PathPart]:
    """Return the parts of a captured step's path in order of time.

    Raises LabError if the step is not captured or its segment cannot be replayed.
    """
    if step not in timeline.steps["step"]:
        raise LabError(f"Step {step} is not captured, so its critical path is not known")
    segment = timeline.steps["segment"][timeline.steps["step"].index(step)]
    recording = read_recording(profile, segment)
    if step not in recording.bounds:
        lacking = " or lacks timestamps of a worker" if recording.timed else ""
        raise LabError(f"Step {step} is traced{lacking}, so it has no critical path of ops")
    begin = recording.bounds[step][0] - timeline.origin_ns
    rows_of: dict[tuple[int | None, str], list[int]] = defaultdict(list)
    for track in timeline.tracks:
        rows_of[track.replica, track.device] += track.rows
        rows_of[None, track.device] += track.rows
        if track.replica is None:
            rows_of[None, ""] += track.rows
    pieces = critical_path(StepBuilder(recording).build(step))
    return [_part(timeline, rows_of, piece, begin) for piece in pieces]


def _part(
    timeline: Timeline,
    rows_of: dict[tuple[int | None, str], list[int]],
    piece: Piece,
    begin_ns: int,
) -> PathPart:
    start, end = round(begin_ns + piece.start_ns), round(begin_ns + piece.end_ns)
    rows = rows_of.get((piece.replica, piece.device or ""), [])
    # A launch gap ends where its op begins.
    row = _row_at(timeline, rows, end if piece.kind == LAUNCH else start)
    return PathPart(row, start, end, piece.kind, piece.name or piece.op)


def _row_at(timeline: Timeline, rows: list[int], at_ns: int) -> int | None:
    """Return the row whose span begins nearest to a time, of those that hold it."""
    best, nearest = None, None
    for row in rows:
        first, last = timeline.row_starts[row], timeline.row_starts[row + 1]
        at = int(np.searchsorted(timeline.start[first:last], at_ns, side="right")) - 1
        if at < 0 or timeline.end[first + at] < at_ns:
            continue
        away = at_ns - int(timeline.start[first + at])
        if nearest is None or away < nearest:
            best, nearest = row, away
    return best
