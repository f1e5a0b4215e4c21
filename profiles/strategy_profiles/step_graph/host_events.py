"""What the host does in a step, as nodes: it asks for batches, each after what it waited for.

A call that takes a batch waits for it (`INPUT`), with Python of its own around that wait (`TAKE`),
which stays if the batch is there at once. So does what the host does until it asks, its launch gap:
`fit` takes 2 ms from the start of a step until then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from strategy_profiles.capture.event_names import BATCH_WAITS
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.step_graph.graph import HOST, HOST_GAP, INPUT, NO_GAP, TAKE
from strategy_profiles.step_graph.step_event import Event
from strategy_profiles.tables.columns import ints, texts


def input_times(spans: pa.Table, begin: int, until: int) -> tuple[Intervals, list[Event]]:
    """Return when the host itself takes batches, and the nodes of that and of waits for batches.

    Replicas may wait beside each other, and then each goes on when its own batch is there. Without
    events of the waits, all of the time counts as one. A wait inside of a function is not the
    host's: the function's other ops run meanwhile.
    """
    known: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for start, length, category, op, name in zip(
        ints(spans, "start_ns").tolist(),
        ints(spans, "duration_ns").tolist(),
        texts(spans, "category"),
        texts(spans, "op"),
        texts(spans, "name"),
        strict=True,
    ):
        if category == "input" and not op:
            kind = next((each for each in BATCH_WAITS if each in (name or "")), "")
            known[kind].append((start - begin, min(start + length, until) - begin))
    inner, outer = (known[each] for each in BATCH_WAITS)
    taken = _union([*outer, *known[""]])
    waits = sorted(inner or outer)
    pieces = [(*each, INPUT) for each in waits or _pairs(taken)]
    if waits:
        pieces += [(*each, TAKE) for each in _outside(taken, _union(waits))]
    return taken, _nodes(sorted(pieces))


def _union(times: list[tuple[int, int]]) -> Intervals:
    starts, ends = np.array(times, np.int64).reshape(-1, 2).T
    return Intervals.union((starts, ends))


def _pairs(times: Intervals) -> list[tuple[int, int]]:
    return list(zip(times.starts.tolist(), times.ends.tolist(), strict=True))


def _outside(times: Intervals, others: Intervals) -> Iterator[tuple[int, int]]:
    """Yield the parts of `times` that are in none of `others`."""
    for start, end in _pairs(times):
        left = start
        for other_start, other_end in _pairs(others):
            if left < other_start < end:
                yield left, other_start
            if other_start < end:
                left = max(left, other_end)
        if left < end:
            yield left, end


def _nodes(pieces: Sequence[tuple[int, int, str]]) -> list[Event]:
    """Return a node for each piece, after the last one that had ended."""
    events: list[Event] = []
    for start, end, op in pieces:
        event = Event(start, end, op, op, HOST, launch=HOST_GAP)
        event.before = last_request(events, start)
        if event.before and event.before[0].end == start:
            event.launch = NO_GAP
        events.append(event)
    return events


def last_request(host: Sequence[Event], start: float) -> list[Event]:
    """Return the last request that has ended at `start`; empty if none has."""
    ended = [event for event in host if event.end <= start]
    return [max(ended, key=lambda event: event.end)] if ended else []


class Returned:
    """The calls of functions that have returned to the host, which then asks for its next batch.

    A function that takes its batch inside has not returned until its last op has started.
    """

    def __init__(self, events: Sequence[Event], do_read: bool) -> None:
        """Find when each function's last op starts, if functions take batches inside."""
        self._last_start: dict[int, float] = {}
        if do_read:
            self._last_start = {each.function: each.start for each in events}
        self._ends: defaultdict[int, dict[int, Event]] = defaultdict(dict)

    def add(self, event: Event) -> None:
        """Add an op, after those that it waits for."""
        for before in event.before:
            self._ends[before.function].pop(id(before), None)
        self._ends[event.function][id(event)] = event

    def at(self, start: float) -> list[Event]:
        """Return the ops that end the calls that have returned."""
        before: list[Event] = []
        for function, ends in self._ends.items():
            is_over = self._last_start.get(function, 0.0) <= start
            if is_over and all(each.end <= start for each in ends.values()):
                before += ends.values()
        return before
