"""What a trace must be for Perfetto and chrome://tracing to draw all of it.

After Google's "Trace Event Format". A viewer drops what is wrong without a word, so every rule
here is one that lost something once: an unbound flow, a slice that overlaps half of another.
"""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from typing import Any

Event = dict[str, Any]
Track = tuple[int, int]
REQUIRED = {
    "X": {"name", "cat", "pid", "tid", "ts", "dur", "args"},
    "s": {"name", "cat", "pid", "tid", "ts", "id"},
    "f": {"name", "cat", "pid", "tid", "ts", "id", "bp"},
    "C": {"name", "pid", "ts", "args"},
    "M": {"name", "pid", "tid", "args"},
}
METADATA = {
    "process_name": str,
    "process_sort_index": int,
    "thread_name": str,
    "thread_sort_index": int,
}
ROUNDING_US = 1e-4
"""Far below the 1 ns that times are written in, far above what a float64 loses."""


def check_trace(text: str) -> list[Event]:
    """The events of a valid trace; raises AssertionError or ValueError with what is wrong."""
    document = json.loads(text, parse_constant=_no_json)
    assert document["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(document["otherData"], dict)
    events: list[Event] = document["traceEvents"]
    for event in events:
        _check_event(event)
    slices = _slices_by_track(events)
    _check_names(events, set(slices))
    _check_side_by_side(slices)
    _check_flows(events, slices)
    return events


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is no JSON")


def _check_event(event: Event) -> None:
    phase = event["ph"]
    assert phase in REQUIRED, event
    assert not REQUIRED[phase] - set(event), event
    assert isinstance(event["pid"], int), event
    assert isinstance(event.get("tid", 0), int), event
    assert isinstance(event["name"], str), event
    assert event["name"], event
    assert event["ts"] >= 0, event
    if phase == "X":
        assert event["dur"] > 0, event
    if phase == "C":
        assert event["args"], event
        assert all(isinstance(value, int | float) for value in event["args"].values()), event
    if phase == "M":
        (value,) = event["args"].values()
        assert isinstance(value, METADATA[event["name"]]), event


def _slices_by_track(events: list[Event]) -> dict[Track, list[Event]]:
    tracks: dict[Track, list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    return {track: sorted(own, key=lambda event: event["ts"]) for track, own in tracks.items()}


def _check_names(events: list[Event], tracks: set[Track]) -> None:
    """Every track has a name and a place, and no two processes share one."""
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and e["ph"] == "M"}
    placed = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_sort_index"}
    assert tracks <= named
    assert tracks <= placed
    order = [e["args"]["sort_index"] for e in events if e["name"] == "process_sort_index"]
    assert len(order) == len(set(order)) >= len({pid for pid, _ in tracks})


def _check_side_by_side(slices: dict[Track, list[Event]]) -> None:
    for own in slices.values():
        for before, after in itertools.pairwise(own):
            assert before["ts"] + before["dur"] <= after["ts"] + _rounding(after), (before, after)


def _rounding(event: Event) -> float:
    """Where clocks lie far apart, microseconds since the first have few digits left."""
    return max(ROUNDING_US, 4 * math.ulp(event["ts"]))


def _check_flows(events: list[Event], slices: dict[Track, list[Event]]) -> None:
    """Each flow starts once, ends once, not before it starts, and both ends lie in a slice."""
    ends: dict[int, dict[str, Event]] = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            assert event["ph"] not in ends[event["id"]], event
            ends[event["id"]][event["ph"]] = event
    for pair in ends.values():
        assert set(pair) == {"s", "f"}, pair
        assert pair["s"]["ts"] <= pair["f"]["ts"], pair
        assert pair["s"]["name"] == pair["f"]["name"]
        assert pair["f"]["bp"] == "e"
        for event in pair.values():
            own = slices[event["pid"], event["tid"]]
            at, near = event["ts"], 4 * math.ulp(event["ts"])
            assert any(s["ts"] - near <= at < s["ts"] + s["dur"] + near for s in own), event
