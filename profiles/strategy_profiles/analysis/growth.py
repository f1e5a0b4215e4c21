"""Do lengths grow as the program goes on?"""

from __future__ import annotations

import itertools

import numpy as np

from strategy_profiles.tables.columns import Floats

FEWEST = 20
EIGHTHS, FEWEST_OF_EIGHTHS, STEADY = 8, 64, 0.8
"""Of so many steps, each eighth lasts at least this part of the one before."""
TIMES = 2.0
"""The last quarter over the first, at least."""
TREND, TIMES_OF_TREND = 0.8, 1.4
"""Rank correlation of the lengths with their order, from which on growth by less is no chance."""


def growth(lengths_ms: Floats) -> tuple[float, float] | None:
    """Median length of the first quarter and of the last; None if they do not grow."""
    if len(lengths_ms) < FEWEST:
        return None
    quarters = [float(np.median(part)) for part in np.array_split(lengths_ms, 4)]
    # One jump, such as another program that starts, is no growth: each quarter must be longer.
    is_longer = all(after > before for before, after in itertools.pairwise(quarters))
    grows_by = quarters[-1] / max(quarters[0], 1e-9)
    if not is_longer or grows_by < TIMES_OF_TREND:
        return None
    # Nor are steps that are short for a while and long for another, as beside a thread that keeps
    # Python's lock.
    parts = [float(np.median(part)) for part in np.array_split(lengths_ms, EIGHTHS)]
    is_steady = all(after > STEADY * before for before, after in itertools.pairwise(parts))
    if len(lengths_ms) >= FEWEST_OF_EIGHTHS and not is_steady:
        return None
    if grows_by < TIMES and _rank_correlation(lengths_ms) < TREND:
        return None
    return quarters[0], quarters[-1]


def _rank_correlation(lengths_ms: Floats) -> float:
    """Spearman's, of the lengths with their order: 1 if each is longer than the one before."""
    ranks = np.argsort(np.argsort(lengths_ms, kind="stable"))
    return float(np.corrcoef(ranks, np.arange(len(ranks)))[0, 1])
