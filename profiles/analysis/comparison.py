"""Is A really faster than B, or is it noise?

Step times of one run are not independent: a slow moment lasts over several steps. So a run's
N steps are worth only N / tau independent ones, tau being the integrated autocorrelation time,
and the two means of log step times are compared by Welch's t with that many. Rare long steps are
pulled in to the median +- 2 robust deviations (a winsorized mean), so that one hiccup decides
nothing. Warm-up (the tracing step, and what MSER-5 finds after it) is left out.

What it cannot know: how much two runs of the same thing differ from one day to the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from strategy_lab.profiles.columns import Floats

Verdict = Literal["A is faster", "B is faster", "cannot tell"]

CONFIDENCE = 0.95
MIN_STEPS = 16
"""Fewer timed steps than this give a ratio, and no interval."""
_WINSOR = 2.0
_MSER_GROUP = 5
_MAX_CORRELATION = 0.97


@dataclass(frozen=True, slots=True)
class Comparison:
    """B against A. `ratio` is B's typical step time over A's: below 1, B is faster."""

    a_ms: float
    b_ms: float
    """Typical (winsorized geometric mean) step times."""
    ratio: float
    low: float | None
    high: float | None
    """95 % confidence interval of the ratio; None where too few steps allow none."""
    verdict: Verdict
    num_steps: tuple[int, int]
    """Steps of A and B that were compared."""
    num_warm_up: tuple[int, int]
    """Steps at the start of each that were left out, the tracing step not counted."""
    num_independent: tuple[float, float]
    """How many independent steps those are worth."""
    reason: str | None = None
    """Why there is no interval, where there is none."""

    @property
    def is_different(self) -> bool:
        return self.verdict != "cannot tell"


@dataclass(frozen=True, slots=True)
class _Typical:
    """A run's typical log step time, the square of its standard error, and what it rests on."""

    log_ms: float
    squared_error: float
    num_steps: int
    num_warm_up: int
    num_independent: float


def compare_times(a_ms: Floats, b_ms: Floats) -> Comparison:
    """Compare two series of step times in the order in which they ran, tracing steps left out.

    Raises ValueError where one is empty or holds a time that is not positive.
    """
    if not len(a_ms) or not len(b_ms) or min(a_ms.min(), b_ms.min()) <= 0:
        raise ValueError("step times are positive, and each run has some")
    a, b = _typical(a_ms), _typical(b_ms)
    low, high, reason = None, None, None
    if min(a.num_steps, b.num_steps) < MIN_STEPS:
        reason = f"an interval needs {MIN_STEPS} timed steps in each run"
    else:
        low, high = _interval(a, b)
    verdict: Verdict = "cannot tell"
    if low is not None and low > 1:
        verdict = "A is faster"
    if high is not None and high < 1:
        verdict = "B is faster"
    return Comparison(
        a_ms=math.exp(a.log_ms),
        b_ms=math.exp(b.log_ms),
        ratio=math.exp(b.log_ms - a.log_ms),
        low=low,
        high=high,
        verdict=verdict,
        num_steps=(a.num_steps, b.num_steps),
        num_warm_up=(a.num_warm_up, b.num_warm_up),
        num_independent=(a.num_independent, b.num_independent),
        reason=reason,
    )


def warm_up_length(times_ms: Floats) -> int:
    """Steps to leave out at the start: the cut that minimises the mean's standard error (MSER-5).

    White, "An effective truncation heuristic", 1997. At most half of the steps, in groups of
    five, and only where it halves the squared error: noise always prefers some cut a little.
    """
    groups = len(times_ms) // _MSER_GROUP
    if groups < 4:
        return 0
    logs = np.log(times_ms[: groups * _MSER_GROUP]).reshape(groups, _MSER_GROUP)
    middles = np.median(logs, axis=1)
    middles = middles - middles.mean()
    # The mean square over the rest, for every cut at once, from sums taken from the end.
    left = np.arange(groups, 0, -1)
    sums, squares = middles[::-1].cumsum()[::-1], (middles**2)[::-1].cumsum()[::-1]
    errors = (squares / left - (sums / left) ** 2)[: groups // 2] / left[: groups // 2]
    best = int(np.argmin(errors))
    return best * _MSER_GROUP if errors[best] < 0.5 * errors[0] else 0


def correlation_time(values: Floats) -> float:
    """Integrated autocorrelation time tau, at least 1: N values are worth N / tau independent ones.

    The larger of two estimates, each corrected for the bias of short series: that of a first-order
    process, (1 + rho) / (1 - rho), and Geyer's initial positive sequence (1992).
    """
    n = len(values)
    centred = values - values.mean()
    if n < 4 or not np.ptp(values) > 0:
        return 1.0
    spectrum = np.fft.rfft(centred, 2 * n)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum))[:n]
    correlation = covariance / covariance[0]
    rho = min(max((n * correlation[1] + 1) / (n - 3), 0.0), _MAX_CORRELATION)
    half = (n // 2) // 2 * 2
    pairs = (correlation[:half] + 1 / n).reshape(-1, 2).sum(axis=1)
    ended = np.flatnonzero(pairs <= 0)
    positive = pairs[: ended[0] if len(ended) else len(pairs)]
    return float(max((1 + rho) / (1 - rho), 2 * positive.sum() - 1, 1.0))


def student_t(freedom: float, confidence: float = CONFIDENCE) -> float:
    """Two-sided quantile of Student's t, from the normal one (Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


def _typical(times_ms: Floats) -> _Typical:
    warm_up = warm_up_length(times_ms)
    logs = np.log(times_ms[warm_up:])
    middle = float(np.median(logs))
    spread = 1.4826 * float(np.median(np.abs(logs - middle)))
    inside = 1.0
    if spread > 0:
        kept = np.clip(logs, middle - _WINSOR * spread, middle + _WINSOR * spread)
        inside, logs = float(np.mean(kept == logs)), kept
    independent = max(len(logs) / correlation_time(logs), 2.0)
    variance = float(logs.var(ddof=1)) if len(logs) > 1 else 0.0
    return _Typical(
        log_ms=float(logs.mean()),
        # Pulling values in makes them look steadier than they are (Tukey and McLaughlin 1963).
        squared_error=variance / independent / inside**2,
        num_steps=len(logs),
        num_warm_up=warm_up,
        num_independent=independent,
    )


def _interval(a: _Typical, b: _Typical) -> tuple[float, float]:
    """The confidence interval of the ratio, by Welch's t."""
    squared = a.squared_error + b.squared_error
    parts = sum(run.squared_error**2 / (run.num_independent - 1) for run in (a, b))
    freedom = max(squared**2 / parts, 2.0) if parts > 0 else 2.0
    reach = student_t(freedom) * math.sqrt(squared)
    difference = b.log_ms - a.log_ms
    return math.exp(difference - reach), math.exp(difference + reach)
