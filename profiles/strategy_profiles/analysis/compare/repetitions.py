"""How many runs a side does it take to tell a difference, given how much runs differ by chance?

From the t test: a difference `d` of log step times is found with power P if

    n >= (t(1 - alpha / 2) + t(P))^2 * (s / d)^2

where s is the standard deviation of one pair's difference, and t has the degrees of freedom with
which s is known. With those (and not infinitely many) the number also covers that s itself was
estimated from few runs (Stein, "A two-sample test for a linear hypothesis whose power is
independent of the variance", 1945).
"""

from __future__ import annotations

import math
from bisect import bisect_left

from strategy_profiles.analysis.compare.student_t import student_t

LEVEL = 0.97
"""Of the interval. The number of runs is chosen after their spread was seen, and at 95 % that
choice alone raised false alarms to 7 %; at 97 % they stay below 5 %: `benchmarks.compare_noise`."""
POWER = 0.9
DIFFERENCE = 0.05
"""The relative difference that repetitions are planned for."""
PILOT_RUNS = 6
"""Runs a side from which the spread is estimated before the number of runs is decided."""
MIN_PAIRS = 3
"""Fewer runs a side than this give an interval too wide to say anything, and no answer."""
_MOST = 100_000


def runs_needed(
    pair_spread: float,
    freedom: float,
    *,
    difference: float = DIFFERENCE,
    power: float = POWER,
    level: float = LEVEL,
) -> int:
    """Runs a side that find `difference` with probability `power`.

    Args:
      pair_spread: standard deviation of the difference of log step times of a run of A and one of
        B: sqrt(2) times that of single runs if these are independent.
      freedom: degrees of freedom with which it is known.
      difference: relative, 0.05 for 5 %.
      level: of the interval that is to exclude equality.
    """
    reach = _reach(freedom, power, level) * pair_spread / math.log1p(difference)
    return max(MIN_PAIRS, min(_MOST, math.ceil(reach**2 - 1e-9)))


def runs_assumed(pair_spread: float) -> int:
    """Runs a side if the spread were known to be this: freedom is that of the runs themselves."""
    numbers = range(PILOT_RUNS, _MOST)
    # more degrees of freedom never need more runs, so one number divides those that are too few
    enough = bisect_left(numbers, True, key=lambda n: runs_needed(pair_spread, n - 1) <= n)
    return numbers.start + enough


def difference_found(pair_spread: float, num_runs: int, *, power: float = POWER) -> float:
    """The least relative difference that `num_runs` per side find with probability `power`."""
    reach = _reach(num_runs - 1, power, LEVEL) * pair_spread / math.sqrt(num_runs)
    return math.expm1(reach)


def _reach(freedom: float, power: float, level: float) -> float:
    # student_t is two-sided: the one-sided quantile of P is the two-sided one of 2 P - 1.
    return student_t(freedom, level) + student_t(freedom, 2 * power - 1)
