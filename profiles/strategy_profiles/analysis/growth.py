"""Do lengths grow as the program goes on?"""

from __future__ import annotations

import itertools

import numpy as np

from strategy_profiles.tables.columns import Floats

FEWEST = 20
TIMES = 2.0
"""The last quarter over the first, at least."""


def growth(lengths_ms: Floats) -> tuple[float, float] | None:
    """Median length of the first quarter and of the last; None if they do not grow."""
    if len(lengths_ms) < FEWEST:
        return None
    quarters = [float(np.median(part)) for part in np.array_split(lengths_ms, 4)]
    # One jump, such as another program that starts, is no growth: each quarter must be longer.
    is_longer = all(after > before for before, after in itertools.pairwise(quarters))
    if not is_longer or quarters[-1] < TIMES * quarters[0]:
        return None
    return quarters[0], quarters[-1]
