"""How long does the program do something else between the end of a step and the next begin?

Only gaps between two steps that follow each other and that time statistics count. A gap in which
the recorder began or ended a capture window is left out, because that takes time of its own, and
so is the end of an epoch of Keras's `fit` (`epoch_ends`).
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.epoch_ends import is_at_epoch_end
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.analysis.window_edges import has_window_edge
from strategy_profiles.tables.columns import Floats
from strategy_profiles.tables.store import Profile


class BetweenSteps(Struct, frozen=True):
    """The gaps of a segment."""

    gaps_ms: Floats
    """Each gap's length, in order."""


def between_steps(profile: Profile, segment: int) -> BetweenSteps:
    """The gaps between the steps of the lowest worker, as `steps` are."""
    steps = step_times(profile, segment)
    if steps.count < 2:
        return BetweenSteps(np.zeros(0))
    # Of two clock readings since 1970 a float would lose a quarter of a microsecond.
    gaps = np.diff(steps.start_ns) / 1e6 - steps.wall_ms[:-1]
    counts = steps.timed[1:] & steps.timed[:-1] & (np.diff(steps.step) == 1)
    counts &= ~has_window_edge(profile, steps) & ~is_at_epoch_end(profile, steps)
    return BetweenSteps(gaps[counts].clip(min=0.0))
