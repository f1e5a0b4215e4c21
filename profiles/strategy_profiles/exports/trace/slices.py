"""Slices: intervals on tracks, arranged without overlap.

Viewers nest a slice inside another on the same track, and drop slices that overlap only partly.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from strategy_profiles.exports.trace.tracks import TraceEvent, Track
from strategy_profiles.timeline.lanes import assign_lanes

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Slice:
    """One interval on a track; times are in ns after the start of the run."""

    track: Track
    name: str
    category: str
    start_ns: int
    end_ns: int
    args: Row = field(default_factory=dict)

    def event(self) -> TraceEvent:
        """Return the complete (`X`) event, at least 1 ns long so that flows can bind to it."""
        return {
            "ph": "X",
            "name": self.name,
            "cat": self.category,
            "pid": self.track.pid,
            "tid": self.track.tid,
            "ts": self.start_ns / 1e3,
            "dur": max(self.end_ns - self.start_ns, 1) / 1e3,
            "args": {key: value for key, value in self.args.items() if value is not None},
        }


def in_sequence(slices: Iterable[Slice]) -> list[Slice]:
    """Return the slices of one track, each shortened to end before the next one starts.

    Steps can overlap slightly, because their starts are read on the wall clock and their lengths on
    the monotonic clock.
    """
    ordered = sorted(slices, key=_start)
    for index, (item, after) in enumerate(pairwise(ordered)):
        if item.start_ns < after.start_ns < item.end_ns:
            ordered[index] = replace(item, end_ns=after.start_ns)
    return ordered


def side_by_side(slices: Sequence[Slice], track: Callable[[int], Track]) -> list[Slice]:
    """Distribute slices over as few lanes as avoid overlap; `track` returns a lane's track."""
    order = sorted(range(len(slices)), key=lambda index: slices[index].start_ns)
    starts = np.array([slices[index].start_ns for index in order], np.int64)
    ends = np.array([slices[index].end_ns for index in order], np.int64)
    lanes = assign_lanes(starts, ends).tolist()
    tracks = {lane: track(lane) for lane in sorted(set(lanes))}
    placed = list(slices)
    for index, lane in zip(order, lanes, strict=True):
        placed[index] = replace(slices[index], track=tracks[lane])
    return placed


def grouped(rows: Iterable[Row], *keys: str) -> dict[tuple[Any, ...], list[Row]]:
    """Group rows by the values of `keys`, sorted; a missing value comes last."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[key] for key in keys)].append(row)
    return dict(sorted(groups.items(), key=lambda item: [(v is None, v or 0) for v in item[0]]))


def _start(item: Slice) -> int:
    return item.start_ns
