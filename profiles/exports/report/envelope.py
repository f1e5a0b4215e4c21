"""Downsamples long series: each bucket keeps its lowest, median and highest value."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

MAX_POINTS = 4000
"""Above this many points, a series is drawn as an envelope of half as many buckets."""

Series = dict[str, Any]


def series(x: npt.ArrayLike, y: npt.ArrayLike, *, max_points: int = MAX_POINTS) -> Series:
    """What a chart draws: `{"x": [...], "y": [...]}`, with `low` and `high` where shortened.

    `steps_per_point` says how many values stand behind each point; NaN is None. `y` of an
    envelope is the median of its bucket.
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
    """`[num_buckets, size]`, the last one filled up with NaN."""
    padded = np.full(-(-len(values) // size) * size, np.nan)
    padded[: len(values)] = values
    return padded.reshape(-1, size)


def _rounded(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Five significant digits: more than a chart shows, less than half the bytes."""
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in values.tolist()]
