"""How long does the program do something else between the end of a step and the next begin?

Only gaps between two steps that follow each other and that time statistics count. A gap in which
the recorder began or ended a capture window is left out, because that takes time of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_lab.profiles.analysis.steps import StepTimes, step_times
from strategy_lab.profiles.run.events import WindowCaptured
from strategy_lab.profiles.tables.columns import Bools, Floats

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class BetweenSteps:
    """The gaps of a segment."""

    gaps_ms: Floats
    """Each gap's length, in order."""

    @property
    def median_ms(self) -> float | None:
        return float(np.median(self.gaps_ms)) if self.gaps_ms.size else None


def between_steps(profile: Profile, segment: int) -> BetweenSteps:
    """The gaps between the steps of the lowest worker, as `steps` are."""
    steps = step_times(profile, segment)
    if steps.count < 2:
        return BetweenSteps(np.zeros(0))
    # Of two clock readings since 1970 a float would lose a quarter of a microsecond.
    gaps = np.diff(steps.start_ns) / 1e6 - steps.wall_ms[:-1]
    counts = steps.timed[1:] & steps.timed[:-1] & (np.diff(steps.step) == 1)
    counts &= ~_at_a_window(profile, steps)
    return BetweenSteps(gaps[counts].clip(min=0.0))


def _at_a_window(profile: Profile, steps: StepTimes) -> Bools:
    """Which gaps have the begin or the end of a capture window in them."""
    windows = profile.events(WindowCaptured)
    own = [event for event in windows if event.segment == steps.segment]
    first = np.array([event.first_step for event in own], np.int64)
    after = first + np.array([event.num_steps for event in own], np.int64)
    found: Bools = np.isin(steps.step[1:], np.concatenate([first, after]))
    # A window without an event, whose conversion failed, shows in its steps alone.
    found |= steps.captured[1:] != steps.captured[:-1]
    return found
