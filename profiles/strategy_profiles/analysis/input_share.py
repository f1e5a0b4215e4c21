"""How much of a step passes while the host waits for its batch?

input share = input time / wall time, sums over the timed steps that know their input. Beside these
means stand the medians of the same steps, so that a sentence can keep to one statistic.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.first_batches import long_waits
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.tables.store import Profile

INPUT_BOUND_SHARE = 0.15


class InputShare(Struct, frozen=True):
    segment: int
    num_steps: int
    mean_ms: float | None
    share: float | None
    """Share of all the time in these steps."""
    reason: str | None = None
    median_ms: float | None = None
    median_wall_ms: float | None = None
    """Median length of the same steps."""
    num_waiting: int = 0
    """Steps that wait for more than `INPUT_BOUND_SHARE` of their length."""
    waiting_ms: float | None = None
    """Median wait of those."""

    @property
    def median_share(self) -> float | None:
        """The median wait over the median step."""
        if self.median_ms is None or not self.median_wall_ms:
            return None
        return self.median_ms / self.median_wall_ms

    @property
    def is_input_bound(self) -> bool:
        """More than 15 % of the step passes before it has its batch."""
        return self.share is not None and self.share > INPUT_BOUND_SHARE


def input_share(profile: Profile, segment: int) -> InputShare:
    """The input's share of a segment's steps, those that trace left out, and those that wait for
    the first batch of an epoch."""
    steps = step_times(profile, segment)
    waited, wall = steps.input_ms[steps.timed], steps.timed_ms
    is_usual = ~long_waits(profile, segment)[steps.timed]
    known = np.isfinite(waited) & np.isfinite(wall) & is_usual
    total = float(wall[known].sum())
    if total <= 0:
        reason = "no step of the segment recorded the time it waited for its batch"
        return InputShare(segment, 0, None, None, reason)
    waited, wall = waited[known], wall[known]
    waiting = waited[waited > INPUT_BOUND_SHARE * wall]
    return InputShare(
        segment,
        len(wall),
        float(waited.mean()),
        float(waited.sum()) / total,
        median_ms=float(np.median(waited)),
        median_wall_ms=float(np.median(wall)),
        num_waiting=len(waiting),
        waiting_ms=float(np.median(waiting)) if waiting.size else None,
    )
