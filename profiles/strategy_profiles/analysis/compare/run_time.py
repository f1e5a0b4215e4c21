"""The step time of a run as one number: the median of its steady steps; and the throughput at it.

Left out are the steps that no time statistic counts (the first one, traced and captured ones: see
`steps`), and what MSER-5 takes for warm-up. A comparison of several runs knows nothing else of a
run. The scatter of the steps within the run only describes it: it says nothing of how the next run
turns out.

Workers of parameter servers do steps of their own, and two results may come right after each other.
There, the mean of as many steps in a row as there are workers counts as one step.
"""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_servers
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.store import Profile

MIN_STEPS = 16
"""Fewer steady steps than this tell nothing of the noise within a run."""
_WINSOR = 2.0
_MSER_GROUP = 5
_MAX_CORRELATION = 0.97


class RunTime(Struct, frozen=True):
    """A run's step time and the scatter of the steps behind it."""

    median_ms: float
    p10_ms: float
    p90_ms: float
    num_steps: int
    """Steady steps: those that the median is of."""
    num_warm_up: int
    """Steps left out at the start as warm-up, the tracing step not counted."""
    num_captured: int
    """Steps left out because a full capture was on."""
    num_independent: float
    """How many independent steps the steady ones are worth."""
    log_error: float
    """Standard error of the median's logarithm that the noise within the run alone makes."""
    uses_captured: bool = False
    """Whether captured steps count because too few others are there."""
    examples_per_step: float | None = None
    """Mean of the steady steps; None if not all of them recorded their examples."""

    @property
    def length_s(self) -> float:
        """About how long the steady steps took together."""
        return self.num_steps * self.median_ms / 1e3


def run_time(steps: StepTimes, num_apart: int = 1) -> RunTime | None:
    """The step time of a segment; None if it has no step of positive length.

    Args:
      num_apart: workers that do steps of their own.
    """
    timed = _timed_ms(steps, num_apart)
    if not timed.size or timed.min() <= 0:
        return None
    time = time_of(
        timed,
        num_captured=int((steps.captured & ~steps.timed).sum()),
        uses_captured=bool((steps.captured & steps.timed).any()),
    )
    examples = steps.examples[steps.timed][time.num_warm_up * num_apart :]
    return replace(
        time,
        num_steps=time.num_steps * num_apart,
        num_warm_up=time.num_warm_up * num_apart,
        examples_per_step=float(examples.mean()) if np.isfinite(examples).all() else None,
    )


def time_of_segment(run: Profile, opened: SegmentOpened) -> RunTime | None:
    """The step time of a segment; None if it has no step of positive length."""
    return run_time(step_times(run, opened.segment), num_apart(opened))


def num_apart(opened: SegmentOpened) -> int:
    """Workers that do steps of their own, beside each other."""
    return max(1, opened.num_workers) if has_servers(opened) else 1


def steady_ms(steps: StepTimes, num_apart: int = 1) -> Floats:
    """The step times that `run_time` is the median of."""
    timed = _timed_ms(steps, num_apart)
    return timed[warm_up_length(timed) :] if timed.size and timed.min() > 0 else timed[:0]


def _timed_ms(steps: StepTimes, num_apart: int) -> Floats:
    timed = steps.timed_ms
    if num_apart == 1 or len(timed) < num_apart:
        return timed
    whole = timed[: len(timed) // num_apart * num_apart]
    means: Floats = whole.reshape(-1, num_apart).mean(axis=1)
    return means


def time_of(times_ms: Floats, *, num_captured: int = 0, uses_captured: bool = False) -> RunTime:
    """The step time of steps in the order in which they ran, warm-up still among them.

    Raises ValueError if there is no step, or one is not positive.
    """
    if not len(times_ms) or times_ms.min() <= 0:
        raise ValueError("a step time needs at least one step, and steps of more than 0 ms")
    warm_up = warm_up_length(times_ms)
    steady = times_ms[warm_up:]
    logs = np.log(steady)
    independent = _num_independent(logs)
    low, middle, high = np.quantile(steady, (0.1, 0.5, 0.9))
    return RunTime(
        median_ms=float(middle),
        p10_ms=float(low),
        p90_ms=float(high),
        num_steps=len(steady),
        num_warm_up=warm_up,
        num_captured=num_captured,
        num_independent=independent,
        log_error=_error_of_median(logs, independent),
        uses_captured=uses_captured,
    )


def warm_up_length(times_ms: Floats) -> int:
    """Steps to leave out at the start: the cut that minimises the mean's standard error (MSER-5).

    White, "An effective truncation heuristic", 1997. At most half of the steps, in groups of
    five, and only if it halves the squared error: noise always prefers some cut a little.
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


def _num_independent(logs: Floats) -> float:
    """Steps divided by their correlation time; rare long ones pulled in first, or they hide it."""
    middle = float(np.median(logs))
    spread = 1.4826 * float(np.median(np.abs(logs - middle)))
    reach = _WINSOR * spread
    kept = np.clip(logs, middle - reach, middle + reach) if spread > 0 else logs
    return max(len(logs) / correlation_time(kept), 2.0)


def _error_of_median(logs: Floats, num_independent: float) -> float:
    """From the order statistics one binomial standard deviation around the median.

    No shape of the distribution is assumed. With so few steps that these are the ends of the
    series, it is as wide as the series.
    """
    reach = 0.5 / math.sqrt(num_independent)
    low, high = np.quantile(logs, (max(0.5 - reach, 0.0), min(0.5 + reach, 1.0)))
    return float(high - low) / 2
