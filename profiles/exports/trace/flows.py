"""Flows: arrows between slices, from a send to its receive and between the ranks of a collective.

A flow binds to the slice that encloses its time on its track: both ends are put inside one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from strategy_lab.profiles.exports.trace.slices import Slice
from strategy_lab.profiles.exports.trace.tracks import TraceEvent


class Flows:
    """Gives every flow its own number."""

    def __init__(self) -> None:
        self._ids = count(1)

    def between(
        self, name: str, source: Slice, target: Slice, *, leaves_ns: int, arrives_ns: int
    ) -> Iterator[TraceEvent]:
        """The two ends of one arrow; the times are moved into their slices where they are not."""
        number = next(self._ids)
        leaves_ns = _inside(leaves_ns, source)
        common = {"name": name, "cat": "flow", "id": number}
        yield {"ph": "s", **common, **_at(source, leaves_ns)}
        arrives_ns = _inside(max(arrives_ns, leaves_ns), target)
        yield {"ph": "f", "bp": "e", **common, **_at(target, arrives_ns)}

    def of_collective(self, ranks: Sequence[Slice]) -> Iterator[TraceEvent]:
        """From the rank that came last to every other: theirs had to wait for it."""
        last = max(ranks, key=lambda rank: rank.start_ns)
        for rank in ranks:
            if rank is not last and rank.end_ns > last.start_ns:
                at_ns = last.start_ns
                yield from self.between(last.name, last, rank, leaves_ns=at_ns, arrives_ns=at_ns)


def _inside(at_ns: int, item: Slice) -> int:
    """The nearest time within the slice; its end is no longer inside."""
    return max(item.start_ns, min(at_ns, item.end_ns - 1))


def _at(item: Slice, at_ns: int) -> TraceEvent:
    return {"pid": item.track.pid, "tid": item.track.tid, "ts": at_ns / 1e3}
