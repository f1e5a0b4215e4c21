"""The wait for the first batch of an epoch, inside the step: Keras's `fit` takes its batches there.

An epoch starts the input pipeline again. What it does before the first batch, such as filling a
shuffle buffer, makes the epoch's first step longer than the others. No capture has it, because
captures are of usual steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from strategy_profiles.analysis.epoch_ends import recorded_ends
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_parts import SourceLine

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

LONGER = 3.0
"""A first step of an epoch takes this many times as long as a usual step, or is one."""


class FirstBatches(NamedTuple):
    """By how much the first steps of epochs are longer than usual ones."""

    total_ms: float
    num_times: int


def first_batches(profile: Profile, segment: int) -> FirstBatches:
    """Nothing if most first steps of epochs, that of the run aside, are as long as others.

    Steps that were traced again are left out, and those whose wait for a batch was measured.
    """
    steps, ends = step_times(profile, segment), recorded_ends(profile, segment)
    begins = np.isin(steps.step, [end.step + 1 for end in ends]) & steps.settled
    begins &= np.isnan(steps.input_ms)
    usual_ms = steps.median_ms
    if usual_ms is None or not begins.any():
        return FirstBatches(0.0, 0)
    longer_ms = steps.wall_ms[begins] - usual_ms
    is_long = longer_ms > (LONGER - 1) * usual_ms
    if is_long.mean() <= 0.5:
        return FirstBatches(0.0, 0)
    return FirstBatches(float(longer_ms[is_long].sum()), int(is_long.sum()))


def recorded_lines(profile: Profile) -> tuple[SourceLine, ...]:
    """The recorded lines of the program, of the first process."""
    around = profile.stacks(min(profile.workers, default=0)).around
    return tuple(SourceLine(*place, text) for place, text in around.items())
