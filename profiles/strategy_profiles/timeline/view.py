"""Reduce a timeline to what a view of a given width can show.

Spans that are wide enough are shown individually. Narrower ones are summarised per bin, a pixel or
a few: the category with the largest share, and the share that is covered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from strategy_profiles.tables.threads import in_threads
from strategy_profiles.timeline.layout import TRANSFER, WAIT, Timeline

MAX_RECTANGLES = 14_000
"""A browser draws this many within a frame, without a GPU, with time to spare."""
MAX_LINKS = 600


@dataclass(frozen=True)
class View:
    """Rectangles as columns of one length.

    `index` is the span's number in the timeline, or -1 for a summary.
    """

    from_ns: float
    to_ns: float
    start: npt.NDArray[np.float64]
    duration: npt.NDArray[np.float32]
    index: npt.NDArray[np.int32]
    row: npt.NDArray[np.uint16]
    category: npt.NDArray[np.uint8]
    covered: npt.NDArray[np.uint8]
    """The share of the rectangle that its spans cover, 0 to 255."""
    waited: npt.NDArray[np.float32]
    """Of a collective the ns of its wait for the last rank, with which it begins; -1 if unknown,
    and of everything else."""
    links: list[list[list[int]]]
    """`[row, start, end]` of each rank of each collective in view; empty if there are more than
    `MAX_LINKS` ranks."""


def cut_view(timeline: Timeline, from_ns: float, to_ns: float, width_px: int) -> View:
    """Return the rectangles of `[from_ns, to_ns)` for a view `width_px` wide."""
    width_px = max(1, min(width_px, 8192))
    to_ns = max(to_ns, from_ns + width_px / 1000)
    num_rows = max(timeline.num_rows, 1)
    bin_px = max(1, math.ceil(num_rows * width_px / MAX_RECTANGLES))
    bin_ns = (to_ns - from_ns) / width_px * bin_px
    budget = MAX_RECTANGLES // num_rows
    parts = in_threads(
        lambda row: _cut_row(timeline, row, from_ns, to_ns, bin_ns, budget),
        range(timeline.num_rows),
    )
    merged = [np.concatenate([part[i] for part in parts]) if parts else _EMPTY for i in range(7)]
    return View(
        from_ns=from_ns,
        to_ns=to_ns,
        start=merged[0].astype(np.float64),
        duration=merged[1].astype(np.float32),
        index=merged[2].astype(np.int32),
        row=merged[3].astype(np.uint16),
        category=merged[4].astype(np.uint8),
        covered=merged[5].astype(np.uint8),
        waited=merged[6].astype(np.float32),
        links=_links_in(timeline, from_ns, to_ns),
    )


_EMPTY = np.empty(0)
_Columns = tuple[npt.NDArray[np.generic], ...]
"""Rectangles of one row: the columns of `View` from `start` to `waited`."""


def _cut_row(
    timeline: Timeline, row: int, from_ns: float, to_ns: float, bin_ns: float, budget: int
) -> _Columns:
    """Return the rectangles of one row: all spans if they fit the budget, else summaries too."""
    first, last = timeline.row_starts[row], timeline.row_starts[row + 1]
    # Spans of a row do not overlap, so their ends are sorted like their starts.
    low = first + int(np.searchsorted(timeline.end[first:last], from_ns, side="right"))
    high = first + int(np.searchsorted(timeline.start[first:last], to_ns, side="left"))
    high = max(low, high)
    if high - low <= budget:
        return _singles(timeline, np.arange(low, high), row)
    is_wide = timeline.end[low:high] - timeline.start[low:high] >= bin_ns
    if not is_wide.any():  # the usual case of a wide view: do not copy a million spans
        return _summaries(timeline, slice(low, high), row, from_ns, bin_ns)
    singles = _singles(timeline, low + np.flatnonzero(is_wide), row)
    summaries = _summaries(timeline, low + np.flatnonzero(~is_wide), row, from_ns, bin_ns)
    return tuple(np.concatenate(pair) for pair in zip(singles, summaries, strict=True))


def _singles(timeline: Timeline, inside: npt.NDArray[np.int64], row: int) -> _Columns:
    start = timeline.start[inside]
    return (
        start,
        timeline.end[inside] - start,
        inside,
        np.full(len(inside), row),
        timeline.category[inside],
        np.full(len(inside), 255),
        timeline.waited(inside),
    )


def _summaries(
    timeline: Timeline,
    inside: npt.NDArray[np.int64] | slice,
    row: int,
    from_ns: float,
    bin_ns: float,
) -> _Columns:
    """Return one rectangle per bin that has spans; a span counts for the bin it starts in.

    `inside` are the numbers of the spans, `from_ns` the start of the first bin. A rectangle has the
    category that covers most of its bin.
    """
    start = timeline.start[inside]
    num_bins = max(math.floor((start[-1] - from_ns) / bin_ns), 0) + 1 if len(start) else 0
    begins = np.searchsorted(start, from_ns + bin_ns * np.arange(1, num_bins))
    bins = np.repeat(np.arange(num_bins), np.diff(begins, prepend=0, append=len(start)))
    num_categories = len(timeline.categories)
    length = timeline.end[inside] - start
    category = timeline.category[inside].astype(np.int64)
    split, waited = timeline.waits_of(inside)
    if len(split):  # a collective counts as its wait and its transfer
        wait, transfer = (timeline.categories.index(name) for name in (WAIT, TRANSFER))
        category[split] = transfer
        length[split] -= waited
        bins = np.concatenate([bins, bins[split]])
        category = np.concatenate([category, np.full(len(split), wait)])
        length = np.concatenate([length, waited])
    cells = bins * num_categories + category
    # 1 ns more: a bin whose spans all have length 0 is in use, too.
    busy = np.bincount(cells, weights=length + 1, minlength=num_bins * num_categories)
    busy = busy.reshape(num_bins, num_categories)
    used = np.flatnonzero(busy.sum(axis=1))
    # More than 100 % is possible: a span may end after its bin.
    covered = np.clip(busy[used].sum(axis=1) / bin_ns, 0.0, 1.0)
    return (
        from_ns + used * bin_ns,
        np.full(len(used), bin_ns),
        np.full(len(used), -1),  # a summary, not a span
        np.full(len(used), row),
        busy[used].argmax(axis=1) if len(used) else used,
        covered * 255,  # stored in a byte
        np.full(len(used), -1),
    )


def _links_in(timeline: Timeline, from_ns: float, to_ns: float) -> list[list[list[int]]]:
    links = timeline.links
    low, high = np.searchsorted(links["start"], [from_ns, to_ns])
    if high - low > MAX_LINKS:
        return []
    groups: dict[int, list[list[int]]] = {}
    for i in range(low, high):
        rank = [int(links[name][i]) for name in ("row", "start", "end")]
        groups.setdefault(int(links["group"][i]), []).append(rank)
    return [ranks for ranks in groups.values() if len(ranks) > 1]
