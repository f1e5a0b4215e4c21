"""What links a span to spans of other tracks: the ranks of its collective, and its sends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from strategy_profiles.timeline.layout import WAIT, Timeline


@dataclass(frozen=True, slots=True)
class Flow:
    """A link from a row and time of the timeline to another."""

    kind: str
    """The op of a collective, e.g. `all-reduce`, or `send`."""
    from_row: int
    from_ns: int
    """When the last rank entered the collective, or when the send began."""
    to_row: int
    to_ns: int
    """When the other rank was done, or the tensor was there."""
    bytes: int | None
    waited_ns: int
    """How long the receiving side waited for `from_ns`."""


def flows_of(timeline: Timeline, row: int, start_ns: int) -> list[Flow]:
    """Return the flows of the span that starts there; empty if it has none."""
    return [*_of_collective(timeline, row, start_ns), *_of_sends(timeline, row, start_ns)]


def _of_collective(timeline: Timeline, row: int, start_ns: int) -> list[Flow]:
    """From the rank that came last to each other rank, which waited for it."""
    links = timeline.links
    begins = (links["start"] == start_ns) | (links["moving"] == start_ns)
    # Of a collective derived from its sends, the sends are the flows.
    mine = np.flatnonzero(begins & (links["row"] == row) & (links["is_derived"] == 0))
    flows = []
    for group in np.unique(links["group"][mine]).tolist():
        ranks = np.flatnonzero(links["group"] == group)
        last = ranks[int(links["start"][ranks].argmax())]
        size = int(links["bytes"][last])
        flows += [
            Flow(
                kind=timeline.link_ops[links["op"][rank]],
                from_row=int(links["row"][last]),
                from_ns=int(links["start"][last]),
                to_row=int(links["row"][rank]),
                to_ns=int(links["end"][rank]),
                bytes=size if size >= 0 else None,
                waited_ns=int(links["moving"][rank] - links["start"][rank]),
            )
            for rank in ranks.tolist()
            if rank != last
        ]
    return flows


def _of_sends(timeline: Timeline, row: int, start_ns: int) -> list[Flow]:
    """The sends that begin with the span, or that its wait ends with."""
    sends = timeline.sends
    is_mine = (sends["start"] == start_ns) & ((sends["from_row"] == row) | (sends["to_row"] == row))
    wait_end_ns = _end_of_wait(timeline, row, start_ns)
    if wait_end_ns is not None:
        on_track = np.isin(sends["to_row"], _rows_beside(timeline, row))
        is_mine |= (sends["start"] == wait_end_ns) & on_track
    return [
        Flow(
            kind="send",
            from_row=int(sends["from_row"][i]),
            from_ns=int(sends["start"][i]),
            to_row=int(sends["to_row"][i]),
            to_ns=max(int(sends["end"][i]), int(sends["start"][i])),
            bytes=int(sends["bytes"][i]) if sends["bytes"][i] >= 0 else None,
            waited_ns=_wait_before(timeline, int(sends["to_row"][i]), int(sends["start"][i])),
        )
        for i in np.flatnonzero(is_mine).tolist()
    ]


def _end_of_wait(timeline: Timeline, row: int, start_ns: int) -> int | None:
    """Return when the span ends, if it is a wait."""
    span = timeline.span_at(row, start_ns)
    is_wait = span is not None and timeline.categories[timeline.category[span]] == WAIT
    return int(timeline.end[span]) if is_wait else None


def _wait_before(timeline: Timeline, row: int, at_ns: int) -> int:
    """Return how long a wait of the row's track lasted that ended at this time."""
    longest = 0
    for each in _rows_beside(timeline, row):
        first, last = timeline.row_starts[each], timeline.row_starts[each + 1]
        low, high = np.searchsorted(timeline.end[first:last], [at_ns, at_ns + 1]) + first
        for span in range(low, high):
            if timeline.categories[timeline.category[span]] == WAIT:
                longest = max(longest, int(timeline.end[span] - timeline.start[span]))
    return longest


def _rows_beside(timeline: Timeline, row: int) -> list[int]:
    """Return all rows of the row's track."""
    track = next(each for each in timeline.tracks if row < each.first_row + each.num_rows)
    return list(track.rows)
