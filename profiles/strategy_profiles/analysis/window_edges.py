"""Between which steps did the recorder begin or end a capture window, which takes time?"""

from __future__ import annotations

import numpy as np

from strategy_profiles.analysis.steps import StepTimes
from strategy_profiles.run.events import WindowCaptured
from strategy_profiles.tables.columns import Bools
from strategy_profiles.tables.store import Profile


def has_window_edge(profile: Profile, steps: StepTimes) -> Bools:
    """Which gaps between two steps have the begin or the end of a capture window in them."""
    windows = profile.events(WindowCaptured)
    own = [event for event in windows if event.segment == steps.segment]
    first = np.array([event.first_step for event in own], np.int64)
    after = first + np.array([event.num_steps for event in own], np.int64)
    is_edge: Bools = np.isin(steps.step[1:], np.concatenate([first, after]))
    # A window without an event, whose conversion failed, shows in its steps alone.
    is_edge |= steps.captured[1:] != steps.captured[:-1]
    return is_edge
