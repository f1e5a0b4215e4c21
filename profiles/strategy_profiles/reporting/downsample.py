"""Long series as few points: each bucket keeps its lowest, median and highest value.

The page and the report draw the same points. A gap in a series stays a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

MAX_POINTS = 4000
"""A series with more points is drawn as an envelope of half this number of buckets."""

Array = npt.NDArray[np.float64]
Series = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Envelope:
    """Points in the order of the series; all values but `x` are NaN in a gap."""

    x: Array
    median: Array
    low: Array
    high: Array
    per_point: int
    """Values of the series per point."""


def envelope(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    max_points: int = MAX_POINTS,
    bridge: float | None = None,
) -> Envelope:
    """The extremes and medians of a series.

    A line breaks where a value is missing, where `x` falls (a run that went back to a checkpoint),
    and where neighbours are more than `bridge` apart. No bucket spans a break.

    Args:
      bridge: None for any distance; missing values (NaN) then do not break the line either.
    """
    xs, ys = np.asarray(x, np.float64), np.asarray(y, np.float64)
    known = np.isfinite(ys)
    indices = np.flatnonzero(known)
    xs, ys = xs[known], ys[known]
    size = bucket_size(len(xs), max_points)
    distance = np.diff(xs)
    breaks = distance < 0
    if bridge is not None:
        breaks = breaks | (distance > bridge) | (np.diff(indices) > 1)
    at = np.flatnonzero(breaks)
    most = max(1, max_points // 2)
    if len(at) > most:  # only the widest gaps are seen
        at = np.sort(at[np.argsort(-np.abs(distance[at]), kind="stable")[:most]])
    starts, is_first = _bucket_starts(len(xs), at + 1, size)
    if not len(starts):
        return Envelope(xs, ys, ys, ys, 1)
    ends = np.r_[starts[1:], len(xs)]
    low, high = np.minimum.reduceat(ys, starts), np.maximum.reduceat(ys, starts)
    middle = low
    if size > 1:
        middle = _medians(ys, starts, ends - starts)
    columns = ((xs[starts] + xs[ends - 1]) / 2, middle, low, high)
    gaps = np.flatnonzero(is_first)[1:]
    middles = (columns[0][gaps - 1] + columns[0][gaps]) / 2
    fills = (middles, np.nan, np.nan, np.nan)
    put = [np.insert(column, gaps, fill) for column, fill in zip(columns, fills, strict=True)]
    return Envelope(put[0], put[1], put[2], put[3], size)


def bucket_size(num: int, max_points: int) -> int:
    """Return how many values of a series of `num` make a point."""
    return max(1, -(-num // max(1, max_points // 2))) if num > max_points else 1


def _medians(ys: Array, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> Array:
    """The median of each bucket; those of one length are computed together."""
    medians = np.empty(len(starts))
    for length in np.unique(lengths).tolist():
        chosen = lengths == length
        medians[chosen] = np.median(ys[starts[chosen, None] + np.arange(length)], axis=1)
    return medians


def readable_top(lines: Sequence[npt.NDArray[np.float64]]) -> float:
    """Return the top of an axis of step times: one slow first step must not flatten the others."""
    # The first step of a segment is traced: several short segments would set the axis by it.
    settled = [line[1:] if line.size > 1 else line for line in lines]
    highs = np.concatenate([line[np.isfinite(line)] for line in settled] or [np.empty(0)])
    if not highs.size:
        return 1.25
    usual = float(np.percentile(highs, 98)) * 1.25
    return max(usual, float(highs[highs < usual * 2.5].max(initial=0.0)) * 1.05)


def usual_distance(x: npt.ArrayLike) -> float:
    """A `bridge` for values that are usually apart: half more than the median distance."""
    xs = np.asarray(x, np.float64)
    return 1.5 * float(np.median(np.diff(xs))) if len(xs) > 1 else np.inf


def series(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    max_points: int = MAX_POINTS,
    bridge: float | None = None,
) -> Series:
    """Return a chart's data: `{"x": [...], "y": [...]}`; a gap is None.

    A shortened series also has `low` and `high`, the extremes of each bucket; its `y` is the median
    of the bucket. `steps_per_point` is the number of values per point.
    """
    line = envelope(x, y, max_points=max_points, bridge=bridge)
    made = {"x": _plain(line.x), "y": _rounded(line.median), "steps_per_point": line.per_point}
    if line.per_point > 1:
        made |= {"low": _rounded(line.low), "high": _rounded(line.high)}
    return made


def _bucket_starts(
    num: int, firsts: npt.NDArray[np.int64], size: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Where each bucket starts, and whether a stretch without a break starts there."""
    if not num:
        return np.empty(0, np.int64), np.empty(0, np.bool_)
    bounds = np.r_[0, firsts, num]
    starts = np.concatenate([np.arange(a, b, size) for a, b in pairwise(bounds)]).astype(np.int64)
    return starts, np.isin(starts, bounds[:-1])


def _plain(values: Array) -> list[float]:
    return [int(value) if value.is_integer() else value for value in values.tolist()]


def _rounded(values: Array) -> list[float | None]:
    """Round to five significant digits: sufficient for a chart, in less than half the bytes."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]
