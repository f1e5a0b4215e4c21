"""Downsamples long series: each bucket keeps its lowest, median and highest value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MAX_POINTS = 4000
"""A series with more points is drawn as an envelope of half this number of buckets."""

Series = dict[str, Any]


def series(x: npt.ArrayLike, y: npt.ArrayLike, *, max_points: int = MAX_POINTS) -> Series:
    """Return a chart's data: `{"x": [...], "y": [...]}`; NaN becomes None.

    A shortened series also has `low` and `high`, the extremes of each bucket; its `y` is the median
    of the bucket. `steps_per_point` is the number of values per point.
    """
    xs, ys = np.asarray(x), np.asarray(y, dtype=float)
    if len(xs) <= max_points:
        return {"x": xs.tolist(), "y": _rounded(ys), "steps_per_point": 1}
    size = -(-len(xs) // (max_points // 2))
    starts = np.arange(0, len(xs), size)
    buckets = _buckets(ys, size)
    middle = np.minimum(starts + size // 2, len(xs) - 1)
    with np.errstate(all="ignore"):
        empty: npt.NDArray[np.bool_] = np.all(np.isnan(buckets), axis=1)
        filled = np.where(empty[:, None], 0.0, buckets)
        low, high = np.nanmin(filled, axis=1), np.nanmax(filled, axis=1)
        median = np.nanmedian(filled, axis=1)
    for values in (low, median, high):
        values[empty] = np.nan
    return {
        "x": xs[middle].tolist(),
        "y": _rounded(median),
        "low": _rounded(low),
        "high": _rounded(high),
        "steps_per_point": size,
    }


def _buckets(values: npt.NDArray[np.float64], size: int) -> npt.NDArray[np.float64]:
    """Return values as `[num_buckets, size]`, with the last bucket padded with NaN."""
    padded = np.full(-(-len(values) // size) * size, np.nan)
    padded[: len(values)] = values
    return padded.reshape(-1, size)


def _rounded(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Round to five significant digits: sufficient for a chart, in less than half the bytes."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]
