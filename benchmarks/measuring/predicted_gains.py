"""Of planted causes: the predicted step without the cause, and the measured one of a healthy run.

The healthy run is the same spec or program without the cause: with the change that the rule
proposes, or with what `benchmarks.advice` names as the counterpart of the case. It follows the ill
run directly, so that both find the machine alike. Steps are captured ones on both sides. Short
runs capture their first steps alone, which take longer than the others, so the others of the
healthy run are compared, too, if there are enough.

A prediction is right if the measured step is within its interval. Some are bounds: no remedy can
gain more, so there the measured step must not be below the interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_profiles.analysis.facts import Finding, Gain
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.reporting import units
from strategy_profiles.tables.store import Profile

_FEWEST_OTHERS = 8


@dataclass(frozen=True, slots=True)
class Checked:
    """A planted cause that was found, and what became of its prediction."""

    rule: str
    title: str
    gain: Gain | None
    why_none: str | None
    healthy_ms: float | None
    """Median captured step of the healthy run; None if there was none to make."""
    usual_ms: float | None
    """The same of its steps that were not captured; None if there are few."""

    @property
    def is_right(self) -> bool | None:
        """None without a prediction or a measurement, or if the prediction names no gain."""
        return self._holds(self.healthy_ms)

    @property
    def is_right_of_usual(self) -> bool | None:
        """The same of the steps that were not captured."""
        return self._holds(self.usual_ms)

    def _holds(self, measured_ms: float | None) -> bool | None:
        if self.gain is None or measured_ms is None or self.gain.is_within_error:
            return None
        is_above = measured_ms >= self.gain.low_ms
        return is_above and (self.gain.is_bound or measured_ms <= self.gain.high_ms)

    def __str__(self) -> str:
        if self.gain is None:
            return f"  no prediction: {self.why_none}"
        gain = self.gain
        sentence = (
            f"  captured step {units.milliseconds(gain.measured_ms)}; without it predicted "
            f"{units.milliseconds(gain.step_ms)} ({units.number(gain.low_ms)} to "
            f"{units.milliseconds(gain.high_ms)}{', a bound' if gain.is_bound else ''})"
        )
        if self.healthy_ms is None:
            return f"{sentence}; no healthy run to measure"
        verdict = {True: "right", False: "WRONG", None: "names no gain"}[self.is_right]
        off = units.share(abs(gain.step_ms / self.healthy_ms - 1))
        sentence = (
            f"{sentence}, measured {units.milliseconds(self.healthy_ms)}: off by {off}, {verdict}"
        )
        if self.usual_ms is None:
            return sentence
        usual = {True: "right", False: "WRONG", None: ""}[self.is_right_of_usual]
        others = units.milliseconds(self.usual_ms)
        return f"{sentence}; steps without a capture {others} {usual}".rstrip()


def measured_ms(profile: Profile) -> tuple[float, float | None]:
    """Return the median captured step of a run's first segment, and the median of the others.

    Steps that trace are left out. None for fewer than 8 others.
    """
    times = step_times(profile, profile.segments[0].segment)
    others = times.wall_ms[times.timed & ~times.captured]
    captured = float(np.median(times.wall_ms[times.captured & times.settled]))
    return captured, float(np.median(others)) if len(others) >= _FEWEST_OTHERS else None


def finding_of(rule: str, reported: Sequence[Finding]) -> Finding | None:
    """Return the finding of a rule; None if it reported nothing."""
    return next((item for item in reported if item.key == rule), None)


def report(checked: Sequence[Checked]) -> None:
    """Print how many predictions were right, by rule."""
    known = [item for item in checked if item.is_right is not None]
    right = Counter(item.rule for item in known if item.is_right)
    total = Counter(item.rule for item in known)
    print(f"gains: {right.total()} of {total.total()} predictions hold what was measured", end="")
    print("".join(f"; {rule} {right[rule]} of {number}" for rule, number in total.items()))
    usual = [item.is_right_of_usual for item in known if item.is_right_of_usual is not None]
    if usual:
        print(f"  of steps without a capture: {sum(usual)} of {len(usual)}")
    off = [
        abs(item.gain.step_ms / item.healthy_ms - 1)
        for item in known
        if item.gain and item.healthy_ms and not item.gain.is_bound
    ]
    if off:
        middle = units.share(float(np.median(off)))
        print(f"  off by {middle} (median), {units.share(max(off))} (most)")
    unsure = Counter(item.rule for item in checked if item.gain and item.gain.is_within_error)
    if unsure:
        listed = ", ".join(f"{rule} {number}" for rule, number in unsure.items())
        print(f"  the interval held the step as it was, so no gain was named: {listed}")
