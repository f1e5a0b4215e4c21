"""A prediction beside the measurement of the same change: do they agree?

Both are ratios: the step with the change over the step without it, so that a machine that is
faster or slower than it was when the run was recorded does not count as an error, and the predicted
ratio has the interval of the recorded steps, without what runs differ by. Lengths are that ratio
times the step that was measured without the change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from strategy_profiles.analysis.compare.run_comparison import RunComparison
from strategy_profiles.reporting import units
from strategy_replay.engine.what_if import WhatIf

Verdict = Literal["agree", "disagree", "cannot tell"]
_EQUAL = 0.005
"""Ratios of step lengths that differ less from 1 than this are reported as equal."""
_WIDE_FACTOR = 2.0
"""The high end over the low end of a measured interval from which on it is called wide."""
_WIDE = " The measured interval is wide: more pairs of runs make it narrower."
_UNSURE = (
    "Whether prediction and measurement agree is not known: the runs differ so much that the "
    "change may have no effect. Try it with more pairs of runs."
)


@dataclass(frozen=True, slots=True)
class StepRatio:
    """Step with the change over step without it. `low` and `high` are None without an interval."""

    without_ms: float
    ratio: float
    low: float | None
    high: float | None

    @property
    def with_ms(self) -> float:
        return self.without_ms * self.ratio

    @property
    def between(self) -> str:
        """The interval of the step with the change: `41.0 to 45.2 ms`; empty without one."""
        if self.low is None or self.high is None:
            return ""
        low, high = self.without_ms * self.low, self.without_ms * self.high
        return f"{units.number(low)} to {units.milliseconds(high)}"


@dataclass(frozen=True, slots=True)
class Agreement:
    """What was predicted of a change, and what was measured."""

    measured: StepRatio
    predicted: StepRatio | None
    """None if no edit of a step predicts the change, or the recording allows no replay."""
    verdict: Verdict
    sentence: str

    @property
    def error(self) -> float | None:
        """`predicted / measured - 1` of the ratios."""
        return self.predicted.ratio / self.measured.ratio - 1 if self.predicted else None


def agreement(predicted: WhatIf | None, compared: RunComparison) -> Agreement:
    """Compare a prediction with runs without the change (side A) and with it (side B)."""
    times = compared.times
    measured = StepRatio(times.a_ms, times.ratio, times.low, times.high)
    if predicted is None:
        return Agreement(measured, None, "cannot tell", _without_prediction(compared))
    base_ms = predicted.measured_ms
    expected = StepRatio(
        base_ms,
        predicted.predicted_ms / base_ms,
        predicted.least_ms / base_ms,
        predicted.most_ms / base_ms,
    )
    verdict, sentence = _compare_intervals(expected, measured, times.reason)
    return Agreement(measured, expected, verdict, sentence)


def _without_prediction(compared: RunComparison) -> str:
    times = compared.times
    what, factor = "The step takes", 1.0
    if times.a_rate and times.b_rate and not _is_same_batch(compared):
        # Steps of different batch sizes do not compare; the time per example does.
        what, factor = "An example takes", times.a_rate / times.b_rate / times.ratio
    sentence = f"{what} {_direction(times.ratio * factor)}"
    if times.reason is not None or times.low is None or times.high is None:
        return f"{sentence}, but {times.reason}."
    if abs(times.ratio * factor - 1) < _EQUAL:
        return f"{sentence}."
    if times.low * factor <= 1 <= times.high * factor:
        return f"{sentence}, but runs of one spec differ as much by chance."
    return f"{sentence}, more than runs of one spec differ by chance."


def _is_same_batch(compared: RunComparison) -> bool:
    return len({run.global_batch_size for run in (*compared.a, *compared.b)}) == 1


def _compare_intervals(
    expected: StepRatio, measured: StepRatio, reason: str | None
) -> tuple[Verdict, str]:
    """Return the verdict and its sentence; `reason` says why `measured` has no interval.

    Intervals that do not overlap disagree. If they overlap and the measured one contains 1, the
    measurement does not show that the change has an effect, so it confirms no prediction of one.
    """
    if measured.low is None or measured.high is None:
        return "cannot tell", f"Whether prediction and measurement agree is not known: {reason}."
    assert expected.low is not None
    assert expected.high is not None
    error = expected.ratio / measured.ratio - 1
    side = "longer" if error >= 0 else "shorter"
    off = (
        f"relative to a step without the change, the predicted one is {units.share(abs(error))} "
        f"{side} than the measured one"
    )
    if expected.high < measured.low or measured.high < expected.low:
        return (
            "disagree",
            f"Prediction and measurement disagree: their intervals do not overlap, {off}.",
        )
    if measured.low <= 1 <= measured.high:
        return "cannot tell", _UNSURE
    wide = _WIDE if measured.high > _WIDE_FACTOR * measured.low else ""
    return "agree", f"Prediction and measurement agree: their intervals overlap, {off}.{wide}"


def _direction(ratio: float) -> str:
    if abs(ratio - 1) < _EQUAL:
        return "as long with the change as without it"
    if ratio <= 1:
        return f"{units.share(1 - ratio)} less time with the change"
    return f"{units.share(ratio - 1)} more time with the change"
