"""Memory of many devices as one band: at each step the least, the middle and the most in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from strategy_profiles.tables.columns import Floats

FEW = 4
"""With more lines, a chart shows a band instead."""
OUTSTANDING = 1.05
"""Multiple of the middle peak above which a process is drawn by itself, with its name."""


class MemorySpread(Struct, frozen=True):
    """Bytes in use by step (ascending, every step at which any device was sampled)."""

    step: Floats
    low: Floats
    middle: Floats
    high: Floats
    outstanding: int | None
    """The device with the highest peak, where it exceeds the middle one by more than 5 %."""


def memory_spread(curves: Sequence[tuple[Floats, Floats]]) -> MemorySpread:
    """The band of `curves[device] = (step, bytes in use)`, at least one, each with a sample.

    Devices are sampled at steps of their own: each counts with its latest sample, from its first.
    """
    step = np.unique(np.concatenate([steps for steps, _ in curves]))
    held = np.stack([_latest_at(steps, used, step) for steps, used in curves])
    low, middle, high = np.nanpercentile(held, (0, 50, 100), axis=0)
    peaks = np.array([np.nanmax(used) for _, used in curves])
    stands_out = len(peaks) > 1 and peaks.max() > OUTSTANDING * np.median(peaks)
    return MemorySpread(step, low, middle, high, int(peaks.argmax()) if stands_out else None)


def _latest_at(steps: Floats, used: Floats, at: Floats) -> Floats:
    """The latest of `used` at each step of `at`; NaN before the first."""
    order = np.argsort(steps, kind="stable")
    latest = np.searchsorted(steps[order], at, side="right") - 1
    return np.where(latest < 0, np.nan, used[order][np.maximum(latest, 0)])
