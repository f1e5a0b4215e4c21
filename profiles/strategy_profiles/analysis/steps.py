"""How long do steps take? Which steps count, and their spread and throughput.

Every step is counted, but three kinds are left out of every time statistic: the first step of a
segment (all steps of its first call, if a call does several), steps in which a function was traced
again, and steps captured in full, by the recorder or by the program's own profiler. Where that
leaves too few (a run that captures or retraces every step), those that the program does most count.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
from msgspec import Struct

from strategy_profiles.analysis.recompiling import Recompiling, recompiling
from strategy_profiles.run.events import OWN_PROFILER, Note, WindowCaptured
from strategy_profiles.tables.columns import (
    Bools,
    Floats,
    Ints,
    bools,
    distinct,
    floats,
    ints,
    of_segment,
    sorted_distinct,
)
from strategy_profiles.tables.store import Profile, once

UNLIKE_THE_OTHERS, FEWEST_ALIKE, RARE = 0.5, 3, 0.1
"""Captured steps that take less than this part of the median step say little of it, if so few other
steps do; so many captured ones that do not are enough."""
FEWEST_BARE = 3
"""With fewer calls whose steps were neither traced nor captured, captured ones count, too."""

WARM_UP_STEPS, WARM_UP_MS = 20, 1000.0
"""Captured steps are of the warm-up if so few steps, which took less than this, came before."""

NO_STEP = "no step was recorded"
FIRST_STEP_ALONE = "only its first step was recorded, which is traced and compiled"


class StepTimes(Struct, frozen=True, dict=True):
    """The steps of a segment in order, arrays of one length; a missing value is NaN."""

    segment: int
    step: Ints
    start_ns: Ints
    wall_ms: Floats
    input_ms: Floats
    loss: Floats
    examples: Floats
    captured: Bools
    num_warm_up: int
    """First steps of the segment, which no time statistic counts."""
    settled: Bools
    """Which steps are not traced: what a capture of them says counts."""
    typical: Bools
    """Which settled steps' captures count: those of the warm-up do not if there are later ones."""
    timed: Bools
    """Which steps time statistics count: settled ones that were not captured."""
    recompiling: Recompiling | None = None
    """Steps in which XLA compiles, which are no more settled than traced ones."""
    synced_ms: float | None = None
    """Mean step between moments at which no device had work left, on GPUs. There a step that reads
    no result ends before its kernels do."""
    unknown: Mapping[str, str] = {}
    """Why an imported run lacks something, by topic."""

    @property
    def count(self) -> int:
        return len(self.step)

    @cached_property
    def timed_ms(self) -> Floats:
        """Wall time of the steps that count. A long run's rules ask for it dozens of times."""
        return self.wall_ms[self.timed]

    @cached_property
    def median_ms(self) -> float | None:
        return self.quantile_ms(0.5)

    @property
    def mean_ms(self) -> float | None:
        return float(self.timed_ms.mean()) if self.timed_ms.size else None

    @property
    def why_no_time(self) -> str:
        """Why no step counts, if none does."""
        return self.unknown.get("steps", FIRST_STEP_ALONE if self.count else NO_STEP)

    @property
    def first_step_ms(self) -> float | None:
        """The step that traces; with several steps in a call, the first call."""
        if not self.count:
            return None
        return float(self.wall_ms[: max(self.num_warm_up, 1)].sum())

    @property
    def examples_per_second(self) -> float | None:
        """Examples over wall time, of the timed steps that know their examples."""
        examples, wall = self.examples[self.timed], self.timed_ms
        known = np.isfinite(examples)
        total_ms = float(wall[known].sum())
        return float(examples[known].sum()) / total_ms * 1e3 if total_ms > 0 else None

    @property
    def first_loss(self) -> float | None:
        known = self.loss[np.isfinite(self.loss)]
        return float(known[0]) if known.size else None

    @property
    def last_loss(self) -> float | None:
        known = self.loss[np.isfinite(self.loss)]
        return float(known[-1]) if known.size else None

    @property
    def is_loss_lost(self) -> bool:
        """Whether the last step has no finite loss."""
        return bool(self.count) and not np.isfinite(self.loss[-1])

    def quantile_ms(self, share: float) -> float | None:
        return float(np.quantile(self.timed_ms, share)) if self.timed_ms.size else None


@once
def step_times(profile: Profile, segment: int) -> StepTimes:
    """The steps of a segment whose length is known, by step number; computed once per profile."""
    rows = of_segment(profile.table("steps"), segment)
    rows = rows.filter(pa.array(np.isfinite(floats(rows, "wall_ms"))))
    order = np.argsort(ints(rows, "step"), kind="stable")
    captured, traced = bools(rows, "captured")[order], bools(rows, "traced")[order]
    step = ints(rows, "step")[order]
    start_ns, wall_ms = ints(rows, "start_ns")[order], floats(rows, "wall_ms")[order]
    call = calls_of(start_ns, wall_ms)
    num_warm_up = 0 if profile.is_imported else int(np.count_nonzero(call == 0))
    compiled = recompiling(profile, segment, step, wall_ms, captured, num_warm_up)
    if compiled is not None:
        traced = traced | compiled.compiles
    settled = settled_steps(of_whole_calls(traced, call), num_warm_up)
    others = settled & ~_profiled(profile, step)
    return StepTimes(
        segment=segment,
        step=step,
        start_ns=start_ns,
        wall_ms=wall_ms,
        input_ms=floats(rows, "input_ms")[order],
        loss=floats(rows, "loss")[order],
        examples=floats(rows, "examples")[order],
        captured=captured,
        num_warm_up=num_warm_up,
        settled=settled,
        typical=without_early_captures(settled, captured, wall_ms),
        timed=timed_steps(others if others.any() else settled, captured, call),
        recompiling=compiled,
        synced_ms=_synced_ms(profile, segment),
        unknown=profile.unknown,
    )


def _synced_ms(profile: Profile, segment: int) -> float | None:
    """Return the mean step from sync to sync; None if it was not measured."""
    windows = [
        window
        for window in profile.events(WindowCaptured)
        if window.segment == segment and window.synced_steps and window.synced_ms is not None
    ]
    num_steps = sum(window.synced_steps for window in windows)
    return sum(window.synced_ms or 0.0 for window in windows) / num_steps if num_steps else None


def _profiled(profile: Profile, step: Ints) -> Bools:
    """Which steps had the program's own profiler on."""
    profiled = np.zeros(len(step), bool)
    for note in profile.events(Note):
        ends = note.fields.get(OWN_PROFILER)
        if isinstance(ends, list) and len(ends) == 2 and all(type(end) is int for end in ends):
            profiled |= (step >= ends[0]) & (step <= ends[1])
    return profiled


def calls_of(start_ns: Ints, wall_ms: Floats) -> Ints:
    """Return the number of the call that did each step.

    Steps of one call (`steps_per_execution`, a loop inside a `tf.function`) are recorded as equal
    parts of its time: exactly as long as each other, each beginning where the one before ends.
    """
    follows = np.abs(np.diff(start_ns) - wall_ms[:-1] * 1e6) < 100.0
    is_new = ~(follows & (wall_ms[1:] == wall_ms[:-1]))
    return np.concatenate([np.zeros(min(len(wall_ms), 1), np.int64), np.cumsum(is_new)])


def of_whole_calls(chosen: Bools, call: Ints) -> Bools:
    """Return all steps of the calls that have a chosen step: a call is traced as a whole."""
    return np.isin(call, call[chosen])


def settled_steps(traced: Bools, num_warm_up: int) -> Bools:
    """Which steps of a segment are not traced; where most are, all but the first `num_warm_up`."""
    first = np.arange(len(traced)) < num_warm_up
    settled: Bools = ~first & ~traced
    return settled if 2 * settled.sum() >= (~first).sum() and settled.any() else ~first


def without_early_captures(settled: Bools, captured: Bools, wall_ms: Floats) -> Bools:
    """Leave out captured steps of the warm-up, if enough later ones were captured.

    The first window comes as soon as possible; buffers are full then, and thread pools are new.
    """
    is_early = np.arange(len(settled)) < WARM_UP_STEPS
    is_early &= np.cumsum(wall_ms) - wall_ms[:1].sum() < WARM_UP_MS
    later = settled & captured & ~is_early
    kept: Bools = settled & ~(captured & is_early) if later.sum() >= FEWEST_BARE else settled
    return kept


def timed_steps(settled: Bools, captured: Bools, call: Ints) -> Bools:
    """Which of the settled steps time statistics count: the bare ones, if a few calls did them."""
    bare: Bools = settled & ~captured
    return bare if len(sorted_distinct(call[bare])) >= FEWEST_BARE else settled


def typical_steps(step: Ints, wall_ms: Floats) -> Ints:
    """The middle half of the steps by wall time, from one row or several per step.

    A mean over them is hardly moved by a hiccup, and its parts still add up, which medians of
    parts would not.
    """
    known = np.isfinite(wall_ms)
    numbers, index = distinct(step[known])
    if len(numbers) < 4:
        return numbers
    wall = np.bincount(index, wall_ms[known]) / np.bincount(index)
    low = np.quantile(wall, 0.25, method="lower")
    high = np.quantile(wall, 0.75, method="higher")
    typical: Ints = numbers[(low <= wall) & (wall <= high)]
    return typical


def typical_captured_steps(profile: Profile, segment: int) -> Ints:
    """The captured steps of a segment whose times count: the typical ones, tracing left out.

    By the times of replicas; by those of the host if no op of a replica was captured.
    """
    captured = of_segment(profile.table("replica_steps"), segment)
    step, wall_ms = ints(captured, "step"), floats(captured, "wall_ms")
    steps = step_times(profile, segment)
    if not captured.num_rows:
        step, wall_ms = steps.step[steps.captured], steps.wall_ms[steps.captured]
    counts = ~np.isin(step, steps.step[~steps.typical])
    others_ms = steps.wall_ms[~steps.captured & steps.typical]
    return steps_like_others(step[counts], wall_ms[counts], others_ms)


def steps_like_others(step: Ints, wall_ms: Floats, others_ms: Floats) -> Ints:
    """The typical ones of captured steps, beside the times of all others.

    Captured steps that take far less than nearly all others find batches that were made while the
    profiler started. They are left out if enough captured steps do not.
    """
    if not others_ms.size:
        return typical_steps(step, wall_ms)
    least_ms = UNLIKE_THE_OTHERS * np.median(others_ms)
    is_long = wall_ms >= least_ms
    has_enough = len(distinct(step[is_long])[0]) >= FEWEST_ALIKE
    if has_enough and np.mean(others_ms < least_ms) <= RARE:
        step, wall_ms = step[is_long], wall_ms[is_long]
    return typical_steps(step, wall_ms)


def longest_captured_step(profile: Profile, segment: int) -> int | None:
    """The longest of `typical_captured_steps`; None if there is none."""
    steps = step_times(profile, segment)
    at = np.flatnonzero(np.isin(steps.step, typical_captured_steps(profile, segment)))
    return int(steps.step[at[np.argmax(steps.wall_ms[at])]]) if at.size else None
