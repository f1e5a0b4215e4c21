"""Two sides of a figure, measured in turns: what it is, and how sure that is.

A busy machine drifts from second to second. Blocks of both sides that follow each other meet the
same spell, so their ratio holds where the times themselves do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
_RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio and the interval that holds it with a confidence of 95 %."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f}x ({self.low:.3f} to {self.high:.3f})"


def median_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The median of the pairs' ratios; bootstrap over pairs. A burst of noise counts for little."""
    ratios = np.asarray(ours) / np.asarray(theirs)
    picks = _picks(len(ratios))
    return _with_spread(float(np.median(ratios)), np.median(ratios[picks], axis=1))


def ratio_of_medians(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Of two sides that ran after each other and have no pairs; bootstrap over each side."""
    above, below = np.asarray(ours), np.asarray(theirs)
    spread = _medians(above, seed=0) / _medians(below, seed=1)
    return _with_spread(float(np.median(above) / np.median(below)), spread)


def total_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """The ratio of the sums, for a cost that comes seldom; bootstrap over pairs."""
    above, below = np.asarray(ours), np.asarray(theirs)
    picks = _picks(len(above))
    spread = above[picks].sum(axis=1) / below[picks].sum(axis=1)
    return _with_spread(float(above.sum() / below.sum()), spread)


def ratio_with_events(
    ours: Sequence[float], theirs: Sequence[float], steps: Sequence[int], has_event: Sequence[bool]
) -> Ratio:
    """The ratio of what all steps took, where a few turns hold something dear.

    Turns without it: how much longer than their bare neighbours they took, the mean of the middle
    60 % of those differences, so that neither slow drifts nor bursts of noise, which are most of a
    short turn's spread, count for much. Turns with it count with all they took.

    Args:
      ours, theirs: cost per step of each turn and of its bare neighbour.
      steps: of each turn.
      has_event: whether a turn holds something dear.
    """
    above, below = np.asarray(ours), np.asarray(theirs)
    number, dear = np.asarray(steps, np.float64), np.asarray(has_event, bool)

    def ratio(rows: np.ndarray) -> float:
        plain = rows[~dear[rows]]
        held = rows[dear[rows]]
        bare = np.median(below[rows])
        usual = bare + _middle(above[plain] - below[plain])
        spent = usual * number[plain].sum() + (above[held] * number[held]).sum()
        return float(spent / (bare * number[rows].sum()))

    every = np.arange(len(above))
    picks = _picks(len(above))[: _RESAMPLES // 4]
    return _with_spread(ratio(every), np.asarray([ratio(rows) for rows in picks]))


def _middle(values: np.ndarray) -> float:
    """The mean without the lowest and the highest fifth; 0 of none."""
    cut = len(values) // 5
    return float(np.sort(values)[cut : len(values) - cut].mean()) if len(values) else 0.0


def _picks(num: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, num, (_RESAMPLES, num))


def _medians(values: np.ndarray, seed: int) -> np.ndarray:
    return np.asarray(np.median(values[_picks(len(values), seed)], axis=1))


def _with_spread(value: float, resampled: np.ndarray) -> Ratio:
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(resampled, [tail, 100 - tail])
    return Ratio(value, float(low), float(high))
