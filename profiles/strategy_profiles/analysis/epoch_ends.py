"""How long does Keras's `fit` take from the last step of an epoch to the first of the next?

From the event `epoch`. The end of the last epoch, which no step follows, is left out, as is one in
which the recorder began or ended a capture window.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.analysis.window_edges import has_window_edge
from strategy_profiles.reporting import units
from strategy_profiles.run.events import EpochEnded
from strategy_profiles.tables.columns import Bools
from strategy_profiles.tables.store import Profile


class EpochEnds(Struct, frozen=True, dict=True):
    """The ends of a segment's epochs, in order."""

    ends: tuple[EpochEnded, ...] = ()

    @property
    def count(self) -> int:
        return len(self.ends)

    @cached_property
    def total_ms(self) -> float:
        return float(sum(end.wall_ms for end in self.ends))

    @property
    def median_ms(self) -> float | None:
        return float(np.median([end.wall_ms for end in self.ends])) if self.ends else None

    @property
    def validation_ms(self) -> float:
        """Of all ends together."""
        return float(sum(end.validation_ms or 0.0 for end in self.ends))

    @property
    def callbacks_ms(self) -> float | None:
        """Of all ends together; None if it was not measured."""
        known = [end.callbacks_ms for end in self.ends if end.callbacks_ms is not None]
        return float(sum(known)) if known else None


def recorded_ends(profile: Profile, segment: int) -> tuple[EpochEnded, ...]:
    """Every end of an epoch of a segment, by what the lowest worker recorded."""
    for source in profile.sources:
        # A run that goes on from an earlier state repeats steps: the last record counts.
        ends = {end.step: end for end in source.of_kind(EpochEnded) if end.segment == segment}
        if ends:
            return tuple(ends[step] for step in sorted(ends))
    return ()


def epoch_ends(profile: Profile, segment: int) -> EpochEnds:
    """The ends of epochs between two steps of a segment that follow each other."""
    recorded = recorded_ends(profile, segment)
    if not recorded:
        return EpochEnds()
    steps = step_times(profile, segment)
    counts = (np.diff(steps.step) == 1) & ~has_window_edge(profile, steps)
    followed = set(steps.step[:-1][counts].tolist())
    return EpochEnds(tuple(end for end in recorded if end.step in followed))


def describe_end(end: EpochEnded) -> str:
    """Its length and largest part, as timeline and live page write it."""
    most = ", most of it validation" if is_mostly_validation(end) else ""
    return f"end of an epoch, {units.seconds(end.wall_ms / 1e3)}{most}"


def is_mostly_validation(end: EpochEnded) -> bool:
    return end.validation_ms is not None and end.validation_ms >= end.wall_ms / 2


def is_at_epoch_end(profile: Profile, steps: StepTimes) -> Bools:
    """Which gaps between two steps are the end of an epoch."""
    recorded = [end.step for end in recorded_ends(profile, steps.segment)]
    is_end: Bools = np.isin(steps.step[:-1], recorded)
    return is_end
