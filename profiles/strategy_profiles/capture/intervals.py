"""Sets of time intervals: sorted, disjoint, integer nanoseconds, so that lengths add up exactly."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from strategy_profiles.tables.columns import Ints


def index_containing(starts: Ints, ends: Ints, times: Ints) -> Ints:
    """Return for each time the index of the interval `[start, end)` that contains it, or -1.

    `starts` rise. Of intervals that overlap, the one that starts last before the time counts.
    """
    if not starts.size:
        return np.full(len(times), -1, np.int64)
    index = np.searchsorted(starts, times, side="right") - 1
    inside = (index >= 0) & (times < ends[np.maximum(index, 0)])
    return np.where(inside, index, -1)


class Intervals(Struct, frozen=True):
    """Disjoint half-open intervals in order of time."""

    starts: Ints
    ends: Ints

    @staticmethod
    def union(*parts: tuple[Ints, Ints]) -> Intervals:
        """Return the union of intervals `(starts, ends)`; empty and inverted ones are ignored."""
        starts = np.concatenate([part[0] for part in parts]) if parts else np.zeros(0, np.int64)
        ends = np.concatenate([part[1] for part in parts]) if parts else np.zeros(0, np.int64)
        keep = ends > starts
        order = np.argsort(starts[keep], kind="stable")
        starts, ends = starts[keep][order], ends[keep][order]
        if not starts.size:
            return Intervals(starts, ends)
        reach = np.maximum.accumulate(ends)
        opens = np.concatenate(([True], starts[1:] > reach[:-1]))
        closes = np.concatenate((opens[1:], [True]))
        return Intervals(starts[opens], reach[closes])

    def __or__(self, other: Intervals) -> Intervals:
        return Intervals.union((self.starts, self.ends), (other.starts, other.ends))

    def covered_until(self, times: Ints) -> Ints:
        """Return the length of the set before each time, in nanoseconds."""
        if not self.starts.size:
            return np.zeros(len(times), np.int64)
        before = np.concatenate(([0], np.cumsum(self.ends - self.starts)))
        index = np.searchsorted(self.starts, times, side="right")
        last = np.maximum(index - 1, 0)
        over = np.where(index > 0, np.maximum(self.ends[last] - times, 0), 0)
        return before[index] - over

    def length_within(self, starts: Ints, ends: Ints) -> Ints:
        """Return the length of the set within each window `[start, end)`, in nanoseconds."""
        return self.covered_until(ends) - self.covered_until(starts)

    def last_end_before(self, times: Ints, default: Ints) -> Ints:
        """Return the end of the last interval that ends at or before each time, or `default`."""
        if not self.ends.size:
            return default
        index = np.searchsorted(self.ends, times, side="right") - 1
        return np.where(index >= 0, self.ends[np.maximum(index, 0)], default)

    def contains(self, times: Ints) -> NDArray[np.bool_]:
        """Return whether each time lies inside an interval."""
        return index_containing(self.starts, self.ends, times) >= 0
