"""Slices, which are intervals on tracks, and flows, which are arrows between them.

Viewers nest a slice inside another on the same track, and drop slices that overlap only partly.
They bind each end of a flow to the slice that encloses its time on its track.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from strategy_chrome.tracks import TraceEvent, Track

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
    ordered = sorted(slices, key=lambda item: item.start_ns)
    for index, (item, after) in enumerate(pairwise(ordered)):
        if item.start_ns < after.start_ns < item.end_ns:
            ordered[index] = replace(item, end_ns=after.start_ns)
    return ordered


@dataclass(frozen=True, slots=True)
class Flow:
    """An arrow from a time on one track to a time on another."""

    name: str
    source: Track
    leaves_ns: int
    target: Track
    arrives_ns: int

    def events(self, number: int) -> tuple[TraceEvent, TraceEvent]:
        """Return the events of both ends, which a number of their own binds together."""
        common = {"name": self.name, "cat": "flow", "id": number}
        leaves = {"pid": self.source.pid, "tid": self.source.tid, "ts": self.leaves_ns / 1e3}
        arrives = {"pid": self.target.pid, "tid": self.target.tid, "ts": self.arrives_ns / 1e3}
        return {"ph": "s", **common, **leaves}, {"ph": "f", "bp": "e", **common, **arrives}
