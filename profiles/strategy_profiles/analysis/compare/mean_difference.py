"""The difference of two means with its interval: of pairs, or of two independent samples."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.compare.repetitions import LEVEL
from strategy_profiles.analysis.compare.student_t import student_t
from strategy_profiles.tables.columns import Floats


class MeanDifference(Struct, frozen=True):
    """Mean of B less mean of A, its interval, and the scatter behind it."""

    middle: float
    reach: float
    """Half the width of the interval."""
    pair_spread: float
    """Standard deviation of the difference of one value of B and one of A."""
    freedom: float
    """Degrees of freedom with which that is known."""

    @property
    def low(self) -> float:
        return self.middle - self.reach

    @property
    def high(self) -> float:
        return self.middle + self.reach


def paired(a: Floats, b: Floats, level: float = LEVEL) -> MeanDifference:
    """Student's t over the differences of two values or more a side, in pairs."""
    differences = b - a
    freedom = len(differences) - 1
    spread = float(differences.std(ddof=1))
    reach = student_t(freedom, level) * spread / math.sqrt(len(differences))
    return MeanDifference(float(differences.mean()), reach, spread, freedom)


def welch(a: Floats, b: Floats, level: float = LEVEL) -> MeanDifference:
    """Two independent samples of two values or more, whose variances may differ."""
    variances = [float(side.var(ddof=1)) for side in (a, b)]
    shares = [variance / len(side) for variance, side in zip(variances, (a, b), strict=True)]
    total = sum(shares)
    freedom = float(min(len(a), len(b)) - 1)
    if total > 0:
        parts = zip(shares, (a, b), strict=True)
        freedom = total**2 / sum(share**2 / (len(side) - 1) for share, side in parts)
    reach = student_t(freedom, level) * math.sqrt(total)
    middle = float(np.mean(b) - np.mean(a))
    return MeanDifference(middle, reach, math.sqrt(sum(variances)), freedom)
