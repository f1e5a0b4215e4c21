"""The wait for the first batch of an epoch, inside the step.

An epoch starts the input pipeline again. What it does before the first batch, such as filling a
shuffle buffer, makes the epoch's first step longer than the others. No capture has it, because
captures are of usual steps. When an epoch of Keras's `fit` begins is recorded. In a loop of the
program's own, samples between steps show that an iterator is made there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from strategy_profiles.analysis.account.regions import Regions, regions_of, samples_at
from strategy_profiles.analysis.account.sampled import kinds_between
from strategy_profiles.analysis.epoch_ends import recorded_ends
from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.event_parts import LONGEST_LINE, SourceLine
from strategy_profiles.tables.columns import Bools
from strategy_profiles.tables.store import Profile, once

LONGER = 3.0
"""A first step of an epoch takes this many times as long as a usual step, or is one."""
FEWEST_MADE, MOST_FOR_EACH = 2, 4
"""Iterators that samples see being made, at least, and long waits for each of these, at most."""


class FirstBatches(NamedTuple):
    """By how much the first steps of epochs are longer than usual ones."""

    total_ms: float
    num_times: int


def first_batches(profile: Profile, segment: int) -> FirstBatches:
    """Nothing if most first steps of epochs, that of the run aside, are as long as others.

    Steps that were traced again are left out. Where the wait for a batch was measured, it is that.
    """
    steps, ends = step_times(profile, segment), recorded_ends(profile, segment)
    if (waits := long_waits(profile, segment)).any():
        return FirstBatches(float(steps.input_ms[waits].sum()), int(waits.sum()))
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


@once
def long_waits(profile: Profile, segment: int) -> Bools:
    """The steps that wait for the first batch of an iterator that the loop has just made.

    Samples find some of the places where it is made: not those that take less than the interval
    between samples. If most of these come before a long wait, and there are not many more long
    waits, all of them are of first batches.
    """
    steps, regions = step_times(profile, segment), regions_of(profile, segment)
    usual_ms = steps.median_ms
    if regions is None or usual_ms is None or not np.isfinite(steps.input_ms).any():
        return np.zeros(steps.count, bool)
    is_long: Bools = steps.timed & (steps.input_ms > (LONGER - 1) * usual_ms)
    made = np.unique(regions.gap[regions.is_between & _makes_iterator(regions)]) + 1
    made = made[made < steps.count]
    is_known = len(made) >= FEWEST_MADE and is_long[made].mean() > 0.5
    if not is_known or is_long.sum() > MOST_FOR_EACH * len(made):
        return np.zeros(steps.count, bool)
    return is_long


def _makes_iterator(regions: Regions) -> Bools:
    kinds = kinds_between(regions.stacks.places)
    return samples_at(regions.stacks, [kind == "epoch-start" for kind in kinds])


def recorded_lines(profile: Profile) -> tuple[SourceLine, ...]:
    """The lines of the program, of the first process: of its files that were recorded, and near
    lines that were sampled."""
    stacks = profile.stacks(min(profile.workers, default=0))
    lines = dict(stacks.around)
    for file, text in stacks.sources.items():
        for number, line in enumerate(text.splitlines(), 1):
            lines[file, number] = line.rstrip().expandtabs()[:LONGEST_LINE]
    return tuple(SourceLine(*place, text) for place, text in lines.items())
