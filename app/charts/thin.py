"""Many points as few: a median line with its 10 to 90 % band, and the odd ones out kept.

A chart is some 1,500 pixels wide at most: ten thousand points cost time and show no more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Band:
    """Buckets of neighbouring points: where they lie, their median and their spread."""

    x: Array
    median: Array
    low: Array
    """10th percentile of the bucket."""
    high: Array
    """90th percentile of the bucket."""
    odd_x: Array
    """Points far above their bucket, kept one by one."""
    odd_y: Array


def band(x: Array, y: Array, *, num_buckets: int = 400, num_odd: int = 60) -> Band:
    """Buckets of equal count over `x` (ascending). `y` may hold NaN, which no bucket counts.

    A point is odd if it is more than five times the bucket's own 10-to-50 % spread above its 90th
    percentile; the `num_odd` furthest are kept.
    """
    keep = np.isfinite(y)
    x, y = x[keep], y[keep]
    if x.size == 0:
        empty = np.empty(0)
        return Band(empty, empty, empty, empty, empty, empty)
    per_bucket = -(-x.size // num_buckets)
    low, median, high = _percentiles(y, per_bucket)
    bucket = np.arange(y.size) // per_bucket
    spread = np.maximum(median - low, abs(float(np.median(median))) * 0.02 + 1e-12)
    over = (y - high[bucket]) / spread[bucket]
    odd = np.flatnonzero(over > 5)
    odd = np.sort(odd[np.argsort(over[odd])[-num_odd:]])
    starts = np.arange(median.size) * per_bucket
    ends = np.minimum(starts + per_bucket, x.size) - 1
    return Band((x[starts] + x[ends]) / 2, median, low, high, x[odd], y[odd])


def _percentiles(y: Array, per_bucket: int) -> Array:
    """`[3, buckets]`: the last bucket may hold fewer points than the others."""
    whole = y.size // per_bucket * per_bucket
    parts = [np.percentile(y[:whole].reshape(-1, per_bucket), (10, 50, 90), axis=1)]
    if whole < y.size:
        parts.append(np.percentile(y[whole:], (10, 50, 90))[:, None])
    return np.concatenate(parts, axis=1)
