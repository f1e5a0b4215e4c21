"""Of planted causes: the predicted step without the cause, and the measured one of a healthy run.

The healthy run is the same spec or program without the cause: with the change that the rule
proposes, or with what `benchmarks.advice` names as the counterpart of the case. It follows the ill
run directly, so that both find the machine alike. Steps are captured ones on both sides.

A prediction is right if the measured step is within its interval. Some are bounds: no remedy can
gain more, so there the measured step must not be below the interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from strategy_lab.profiles.analysis.facts import Finding, Gain
from strategy_lab.profiles.analysis.steps import step_times
from strategy_lab.profiles.reporting import units
from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class Checked:
    """A planted cause that was found, and what became of its prediction."""

    rule: str
    title: str
    gain: Gain | None
    why_none: str | None
    healthy_ms: float | None
    """Median captured step of the healthy run; None if there was none to make."""

    @property
    def is_right(self) -> bool | None:
        """None without a prediction or a measurement, or if the prediction names no gain."""
        if self.gain is None or self.healthy_ms is None or self.gain.is_within_error:
            return None
        is_above = self.healthy_ms >= self.gain.low_ms
        return is_above and (self.gain.is_bound or self.healthy_ms <= self.gain.high_ms)

    def __str__(self) -> str:
        if self.gain is None:
            return f"  no prediction: {self.why_none}"
        gain = self.gain
        told = (
            f"  captured step {units.milliseconds(gain.measured_ms)}; without it predicted "
            f"{units.milliseconds(gain.step_ms)} ({units.number(gain.low_ms)} to "
            f"{units.milliseconds(gain.high_ms)}{', a bound' if gain.is_bound else ''})"
        )
        if self.healthy_ms is None:
            return f"{told}; no healthy run to measure"
        verdict = {True: "right", False: "WRONG", None: "names no gain"}[self.is_right]
        off = units.share(abs(gain.step_ms / self.healthy_ms - 1))
        return f"{told}, measured {units.milliseconds(self.healthy_ms)}: off by {off}, {verdict}"


def captured_ms(profile: Profile) -> float:
    """Return the median captured step of a run's first segment, those that trace left out."""
    times = step_times(profile, profile.segments[0].segment)
    return float(np.median(times.wall_ms[times.captured & times.settled]))


def finding_of(rule: str, found: Sequence[Finding]) -> Finding | None:
    """Return the finding of a rule; None if it found nothing."""
    return next((item for item in found if item.key == rule), None)


def report(checked: Sequence[Checked]) -> None:
    """Print how many predictions were right, by rule."""
    known = [item for item in checked if item.is_right is not None]
    right = Counter(item.rule for item in known if item.is_right)
    total = Counter(item.rule for item in known)
    print(f"gains: {right.total()} of {total.total()} predictions hold what was measured", end="")
    print("".join(f"; {rule} {right[rule]} of {number}" for rule, number in total.items()))
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
