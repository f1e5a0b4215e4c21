"""How long a thread ran a span itself, and not another span inside of it."""

from __future__ import annotations

import numpy as np

from strategy_profiles.tables.columns import Ints, sorted_distinct


def self_times(start: Ints, end: Ints, track: Ints, thread: Ints) -> Ints:
    """Return each span's length less that of the spans directly inside of it.

    Only spans of one thread of one track can be inside of each other: those of other threads run at
    the same time. A span that ends after the one it begins in is not inside of it.
    """
    order = np.lexsort((-end, start, thread, track))
    start, end, track, thread = (each[order] for each in (start, end, track, thread))
    own = end - start
    goes_on = (track[1:] == track[:-1]) & (thread[1:] == thread[:-1])
    group = np.concatenate([[0], np.cumsum(~goes_on)]) if len(start) else np.empty(0, np.int64)
    # Most threads run one span after the other: only those that nest are gone through.
    nested = sorted_distinct(group[1:][goes_on & (start[1:] < end[:-1])])
    inner = np.zeros(len(start), np.int64)
    bounds = np.searchsorted(group, np.stack([nested, nested + 1]))
    for first, last in bounds.T.tolist():
        _add_inner(start[first:last].tolist(), end[first:last].tolist(), inner[first:last])
    result = np.empty(len(start), np.int64)
    result[order] = own - inner
    return result


def _add_inner(starts: list[int], ends: list[int], inner: Ints) -> None:
    """Add the length of each span to the span that it is directly inside of."""
    around: list[int] = []
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        while around and ends[around[-1]] <= start:
            around.pop()
        if around and end <= ends[around[-1]]:
            inner[around[-1]] += end - start
        around.append(number)
