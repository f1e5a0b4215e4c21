"""How fast is the loop? What is between steps counts, the first step does not."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.regions import regions_of
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.tables.store import Profile


class LoopPace(Struct, frozen=True):
    """Pace of a loop without its first step. Each value is None if it is unknown."""

    ms_per_step: float | None
    examples_per_second: float | None
    """Of all its steps: None unless each knows its examples."""


def loop_pace(profile: Profile, segment: int) -> LoopPace:
    """The pace of a segment's loop."""
    steps, regions = step_times(profile, segment), regions_of(profile, segment)
    num_usual = steps.count - steps.num_warm_up
    if regions is None or num_usual < 1 or not regions.usual_ms:
        return LoopPace(None, None)
    examples = steps.examples[steps.num_warm_up :]
    rate = float(examples.sum()) / regions.usual_ms * 1e3 if np.isfinite(examples).all() else None
    return LoopPace(regions.usual_ms / num_usual, rate)


def newest_pace(newest: StepTimes) -> LoopPace:
    """The pace from the end of the first of a run's newest steps to the end of the last."""
    if newest.count < 2:
        return LoopPace(None, None)
    end_ns = newest.start_ns + newest.wall_ms * 1e6
    took_ms, examples = float(end_ns[-1] - end_ns[0]) / 1e6, newest.examples[1:]
    if not took_ms > 0:  # the clock was set meanwhile
        return LoopPace(None, None)
    rate = float(examples.sum()) / took_ms * 1e3 if np.isfinite(examples).all() else None
    return LoopPace(took_ms / (newest.count - 1), rate)
