"""Quantiles of Student's t distribution, exact for any positive number of degrees of freedom."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_PRECISION = 1e-14


@lru_cache(maxsize=4096)
def student_t(freedom: float, confidence: float) -> float:
    """The t that a variable of `freedom` degrees exceeds in size with probability 1 - confidence.

    Two-sided: student_t(10, 0.95) is 2.228. Raises ValueError if freedom is not positive or
    confidence is not between 0 and 1.
    """
    if freedom <= 0 or not 0 < confidence < 1:
        raise ValueError(f"freedom {freedom} and confidence {confidence} allow no quantile")
    tail = 1 - confidence
    # Newton's method. The two tails are convex in t: from 0, every step stays below the result.
    t = 0.0
    while True:
        step = (_two_tails(t, freedom) - tail) / (2 * _density(t, freedom))
        if step <= 1e-12 * t:
            return t
        t += step


def _two_tails(t: float, freedom: float) -> float:
    """P(|T| > t): the regularized incomplete beta function at freedom / (freedom + t^2)."""
    x = freedom / (freedom + t * t)
    return _incomplete_beta(freedom / 2, 0.5, x)


def _density(t: float, freedom: float) -> float:
    log_scale = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    power = -(freedom + 1) / 2 * math.log1p(t * t / freedom)
    return math.exp(log_scale + power) / math.sqrt(freedom * math.pi)


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b), by its continued fraction (DLMF 8.17.22) on the side where that converges fast."""
    if x <= 0 or x >= 1:
        return min(max(x, 0.0), 1.0)
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(a, b, x) / a
    return 1 - math.exp(log_front) * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction by Lentz's method."""
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _not_zero(1 + term * d)
            c = _not_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < _PRECISION:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
