"""How much of a step passes while the host waits for its batch?

input share = input time / wall time, sums over the timed steps that know their input.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_lab.profiles.analysis.steps import step_times

if TYPE_CHECKING:
    from strategy_lab.profiles.store import Profile

INPUT_BOUND_SHARE = 0.15


@dataclass(frozen=True, slots=True)
class InputShare:
    segment: int
    num_steps: int
    mean_ms: float | None
    share: float | None
    reason: str | None = None

    @property
    def is_input_bound(self) -> bool:
        """More than 15 % of the step passes before it has its batch."""
        return self.share is not None and self.share > INPUT_BOUND_SHARE


def input_share(profile: Profile, segment: int) -> InputShare:
    """The input's share of a segment's steps, its tracing step left out."""
    steps = step_times(profile, segment)
    waited, wall = steps.input_ms[steps.num_warm_up :], steps.timed_ms
    known = np.isfinite(waited) & np.isfinite(wall)
    total = float(wall[known].sum())
    if total <= 0:
        reason = "no step of the segment recorded the time it waited for its batch"
        return InputShare(segment, 0, None, None, reason)
    waited_ms = float(waited[known].sum())
    return InputShare(segment, int(known.sum()), waited_ms / known.sum(), waited_ms / total)
