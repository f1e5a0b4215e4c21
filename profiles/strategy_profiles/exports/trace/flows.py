"""Flows: arrows between slices, from a send to its receive and between the ranks of a collective.

A viewer binds each end of a flow to the slice that encloses its time on its track, so the times of
both ends must be inside their slices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from strategy_profiles.exports.trace.slices import Slice
from strategy_profiles.exports.trace.tracks import TraceEvent


class Flows:
    """Creates flows, each with a number of its own."""

    def __init__(self) -> None:
        self._ids = count(1)

    def between(
        self, name: str, source: Slice, target: Slice, *, leaves_ns: int, arrives_ns: int
    ) -> Iterator[TraceEvent]:
        """Yield the two ends of an arrow. Times outside their slice are moved into it."""
        number = next(self._ids)
        leaves_ns = _inside(leaves_ns, source)
        common = {"name": name, "cat": "flow", "id": number}
        yield {"ph": "s", **common, **_at(source, leaves_ns)}
        arrives_ns = _inside(max(arrives_ns, leaves_ns), target)
        yield {"ph": "f", "bp": "e", **common, **_at(target, arrives_ns)}

    def of_collective(self, ranks: Sequence[Slice]) -> Iterator[TraceEvent]:
        """Yield arrows from the rank that starts last to the others, which wait for it."""
        last = max(ranks, key=lambda rank: rank.start_ns)
        for rank in ranks:
            if rank is not last and rank.end_ns > last.start_ns:
                at_ns = last.start_ns
                yield from self.between(last.name, last, rank, leaves_ns=at_ns, arrives_ns=at_ns)


def _inside(at_ns: int, item: Slice) -> int:
    """Return the nearest time within the slice. The slice's end is not part of it."""
    return max(item.start_ns, min(at_ns, item.end_ns - 1))


def _at(item: Slice, at_ns: int) -> TraceEvent:
    return {"pid": item.track.pid, "tid": item.track.tid, "ts": at_ns / 1e3}
