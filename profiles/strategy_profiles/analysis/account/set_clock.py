"""Times of a run whose machine's wall clock was set meanwhile, as by the clock of its beginning.

Steps and samples are recorded with wall-clock times. Where the clock was set, the recorder has
noted by how much, and before the end of which step: without that hour no gap between two steps, and
no sample between them, is an hour long.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.analysis.steps import StepTimes
from strategy_profiles.run.events import Note
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.columns import Floats, Ints
from strategy_profiles.tables.store import Profile

_SAME_NS = 1_000_000_000
"""The recorder notes no smaller change."""


class SetClock(Struct, frozen=True):
    """One change of the wall clock."""

    step: int
    """The step before whose end it was set."""
    jump_ns: int


def set_clocks(profile: Profile) -> list[SetClock]:
    """The changes that the lowest worker has noted, in order."""
    workers = [source.worker for source in profile.sources if source.worker is not None]
    notes = [
        note.fields
        for source in profile.sources
        if source.worker is not None and source.worker == min(workers)
        for note in source.of_kind(Note)
    ]
    changes = [(fields.get("step"), fields.get("jump_ns")) for fields in notes]
    return [
        SetClock(step, jump_ns)
        for step, jump_ns in changes
        if isinstance(step, int) and isinstance(jump_ns, int) and abs(jump_ns) < 2**62
    ]


def steps_by_first_clock(steps: StepTimes, changes: list[SetClock]) -> StepTimes:
    """Return the steps with their starts by the clock of the first one."""
    if not changes or steps.count < 2:
        return steps
    starts = starts_by_first_clock(steps.step, steps.start_ns, steps.wall_ms, changes)
    return replace(steps, start_ns=starts)


def starts_by_first_clock(
    step: Ints, recorded_ns: Ints, wall_ms: Floats, changes: list[SetClock]
) -> Ints:
    """The same of the starts of steps in order."""
    start_ns = recorded_ns.copy()
    for change in changes:
        # The recorder compares the clocks about once a second: the change is between earlier steps.
        until = int(np.searchsorted(step, change.step, side="right"))
        if until < 2:
            continue
        over_ns = start_ns[:until] + (wall_ms[:until] * 1e6).astype(np.int64)
        odd_ns = np.abs(start_ns[1:until] - over_ns[:-1] - change.jump_ns)
        nearest = int(np.argmin(odd_ns))
        if odd_ns[nearest] < _SAME_NS:
            start_ns[nearest + 1 :] -= change.jump_ns
    return start_ns


def stacks_by_first_clock(stacks: Stacks, changes: list[SetClock]) -> Stacks:
    """Return the samples by the clock of the first one. One that was set back changes none: each
    counts from the one before it."""
    jumps_ns = np.zeros(stacks.count, np.int64)
    between_ns = np.diff(stacks.at_ns, prepend=stacks.at_ns[:1])
    for change in changes:
        if change.jump_ns > 0:
            jumps_ns[np.abs(between_ns - change.jump_ns) < _SAME_NS] = change.jump_ns
    if not jumps_ns.any():
        return stacks
    for_ms = np.where(jumps_ns > 0, stacks.for_ms - jumps_ns / 1e6, stacks.for_ms).clip(min=0.0)
    return replace(stacks, at_ns=stacks.at_ns - np.cumsum(jumps_ns), for_ms=for_ms)


def by_first_clock(at_ns: int, step: int, changes: list[SetClock]) -> int:
    """Return a time, as before a step, by the clock of the run's beginning."""
    return at_ns - sum(change.jump_ns for change in changes if change.step < step)
