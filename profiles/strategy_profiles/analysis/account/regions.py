"""Divides the time of the thread that trains: before the loop, its steps, between them, after it.

Where steps begin and end is measured. What happens elsewhere is sampled: each region's length is
known, and its samples say what it was spent on. The intervals between samples are random, so the
share of samples is an unbiased estimate of the share of time.

The loop of a program begins before its first step: with the making of the iterator, and with what
Keras's `fit` does before. A sample belongs to the loop if it is in the outermost `for` or `while`
statement around the line that does the steps, or on that line itself (`model.fit(...)`). Of two
segments in one loop the earlier one has the time until the later one begins.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.account.set_clock import (
    by_first_clock,
    set_clocks,
    stacks_by_first_clock,
    steps_by_first_clock,
)
from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.run.event_parts import StackPlace
from strategy_profiles.run.stacks import Stacks
from strategy_profiles.tables.columns import Bools, Floats, Ints
from strategy_profiles.tables.store import Profile, once

SHORTEST_MS = 5000.0
USUAL_TIMES, LONGEST_TIMES = 20.0, 2.0
"""Least time without a step until steps are said to have ceased: this, and so many times the usual
step and the longest time between two steps, such as a validation."""
LEADS = 0.1
"""Part of the samples in steps that a line must lead to."""
_ENDS_LOOP = re.compile(r"^(?:for|while) |\b(?:break|return)\b")
Line = tuple[str, int]


class Regions(Struct, frozen=True):
    """Begin and end of the loop, and which samples are where. Times are in ms."""

    stacks: Stacks
    over_ns: int
    """End of the loop, by the wall clock."""
    program_ms: float | None
    """From the start of the process to the last sample; None if nothing was sampled."""
    before_ms: float | None
    start_ms: float
    """The part of it before the first sample."""
    loop_ms: float
    after_ms: float | None
    first_ms: float
    """The first call, and the loop before it."""
    steps_ms: float
    takes_batches: bool
    """Whether the program's Python takes the batches of steps from a dataset."""
    gap: Ints
    """By sample the number of the step that began last before it; -1 before the first one."""
    is_before: Bools
    is_first: Bools
    is_step: Bools
    is_between: Bools
    is_after: Bools

    @property
    def usual_ms(self) -> float:
        """The loop after its first step."""
        return self.steps_ms + self.between_ms

    @property
    def between_ms(self) -> float:
        return max(0.0, self.loop_ms - self.first_ms - self.steps_ms)


def regions_of(profile: Profile, segment: int) -> Regions | None:
    """The regions of a segment, by its steps and the samples of the lowest worker; None without a
    step."""
    return _by_segment(profile).get(segment)


@once
def _by_segment(profile: Profile) -> dict[int, Regions]:
    """The regions of each segment that has a step; a loop ends before the next segment opens."""
    changes, opened = set_clocks(profile), sorted(profile.segments, key=lambda each: each.segment)
    stacks = stacks_by_first_clock(profile.stacks(min(profile.workers, default=0)), changes)
    by_segment: dict[int, Regions] = {}
    over_ns: int | None = None
    for each, later in itertools.pairwise([*opened, None]):
        assert each is not None
        until_ns = by_first_clock(later.started_ns, later.first_step, changes) if later else None
        steps = steps_by_first_clock(step_times(profile, each.segment), changes)
        if later is None and steps.count and profile.status.state != "finished":
            is_over, wall_ms = profile.status.is_over, np.nan_to_num(steps.wall_ms)
            if last_without_step(stacks, steps.start_ns, wall_ms, is_over=is_over) is not None:
                until_ns = int(steps.start_ns[0])  # no later than its last step
        own = regions(steps, stacks, over_ns, until_ns)
        if own is not None:
            by_segment[each.segment], over_ns = own, own.over_ns
    return by_segment


def regions(
    steps: StepTimes, stacks: Stacks, from_ns: int | None = None, until_ns: int | None = None
) -> Regions | None:
    """Divide the time around the steps of a segment; None without a step.

    Its loop begins and ends between these two times, if they are given and its steps do.
    """
    if not steps.count:
        return None
    end_ns = steps.start_ns + (steps.wall_ms * 1e6).astype(np.int64)
    num_first = steps.num_warm_up  # 0 in an imported profile, which begins while steps go on
    begin_ns, over_ns = int(steps.start_ns[0]), int(end_ns.max())
    first_end_ns = int(end_ns[:num_first].max()) if num_first else begin_ns
    is_in_step = _inside(stacks.at_ns, steps.start_ns, end_ns)
    belongs = _belongs(stacks, is_in_step)
    first_ns = _extended(stacks.at_ns, belongs, begin_ns, forward=False)
    begin_ns = min(begin_ns, max(first_ns, from_ns or first_ns))
    is_freed = np.array([_may_free(place) for place in stacks.places], bool)
    if stacks.count:  # what the loop made is freed once it is over, at its own line
        ended = np.flatnonzero(belongs & ~is_freed[stacks.place])
        belongs &= np.arange(stacks.count) <= (ended[-1] if len(ended) else -1)
    last_of_loop_ns = _extended(stacks.at_ns, belongs, over_ns, forward=True)
    over_ns = max(over_ns, min(last_of_loop_ns, until_ns or last_of_loop_ns))
    steps_ms = _union_ms(steps.start_ns[num_first:], end_ns[num_first:])
    last_ns = int(stacks.at_ns[-1]) if stacks.count else None
    at = stacks.at_ns
    is_first = (at >= begin_ns) & (at < first_end_ns)
    is_later = (at >= first_end_ns) & (at < over_ns)
    began_ns = stacks.program_ns
    before_ms = None if began_ns is None else max(0, begin_ns - began_ns) / 1e6
    return Regions(
        stacks=stacks,
        over_ns=over_ns,
        program_ms=None if began_ns is None or last_ns is None else (last_ns - began_ns) / 1e6,
        before_ms=before_ms,
        start_ms=min(before_ms or 0.0, stacks.unsampled_ms),
        loop_ms=(over_ns - begin_ns) / 1e6,
        after_ms=None if last_ns is None else max(0, last_ns - over_ns) / 1e6,
        first_ms=(first_end_ns - begin_ns) / 1e6,
        steps_ms=steps_ms,
        takes_batches=bool(np.isfinite(steps.input_ms).any()),
        gap=np.searchsorted(steps.start_ns, at, side="right") - 1,
        is_before=at < begin_ns,
        is_first=is_first,
        is_step=is_later & is_in_step,
        is_between=is_later & ~is_in_step,
        is_after=at >= over_ns,
    )


def _union_ms(start_ns: Ints, end_ns: Ints) -> float:
    """Length of intervals by their begins, in order; workers of parameter servers overlap."""
    if not len(start_ns):
        return 0.0
    over_ns = np.maximum.accumulate(end_ns)
    begin_ns = np.maximum(start_ns, np.concatenate([start_ns[:1], over_ns[:-1]]))
    return float((over_ns - begin_ns).clip(min=0).sum() / 1e6)


def _inside(at_ns: Ints, start_ns: Ints, end_ns: Ints) -> Bools:
    """Which times are within one of the intervals, whose begins are in order."""
    interval = np.searchsorted(start_ns, at_ns, side="right") - 1
    over_ns = np.maximum.accumulate(end_ns)
    is_inside: Bools = (interval >= 0) & (at_ns < over_ns[interval.clip(min=0)])
    return is_inside


def last_without_step(
    stacks: Stacks, start_ns: Ints, wall_ms: Floats, *, is_over: bool
) -> int | None:
    """The last sample of the loop that does these steps, if it comes far too long after the last
    step, and the loop was not left before the run was over; None otherwise."""
    end_ns = start_ns + (wall_ms * 1e6).astype(np.int64)
    in_loop = np.flatnonzero(_belongs(stacks, _inside(stacks.at_ns, start_ns, end_ns)))
    if not len(in_loop) or not (is_over or in_loop[-1] == stacks.count - 1):
        return None
    longest_ms = float((start_ns[1:] - end_ns[:-1]).max(initial=0) / 1e6)
    least_ms = max(SHORTEST_MS, USUAL_TIMES * float(np.median(wall_ms)), LONGEST_TIMES * longest_ms)
    since_ms = (int(stacks.at_ns[in_loop[-1]]) - int(end_ns.max())) / 1e6
    return int(in_loop[-1]) if since_ms >= least_ms else None


def _belongs(stacks: Stacks, is_in_step: Bools) -> Bools:
    """Which samples are in the loop that does the steps, by the program's lines.

    Without a loop of the program's, such as `for`, it is the call that does them, as of `fit`. The
    lines that led to that call, as of `main()`, led to all that the program did before it, too.
    """
    used = [stacks.places[number] for number in set(stacks.place[is_in_step].tolist())]
    lines = {line for place in used for line in _lines(place)}
    loops = [loop for loop in stacks.loops if any(loop.has(*line) for line in lines)]
    if loops:
        inside = [
            any(loop.has(*line) for line in _lines(place) for loop in loops)
            for place in stacks.places
        ]
    else:
        calls = _calls(used)
        inside = [
            place.doing != "python"  # at such a line, `fit` has returned
            and any(_lines(place)[: len(call)] == call for call in calls)
            for place in stacks.places
        ]
    return samples_at(stacks, inside)


def lines_of_steps(regions: Regions, file: str) -> set[int]:
    """The lines of a file that lead to steps: a sample at the edge of a step may be at another."""
    stacks = regions.stacks
    places = stacks.place[regions.is_step | regions.is_first]
    num_at: Counter[int] = Counter()
    for number, num_samples in Counter(places.tolist()).items():
        frames = stacks.places[number].frames
        for line in {frame.line for frame in frames if frame.file == file}:
            num_at[line] += num_samples
    return {line for line, number in num_at.items() if number >= LEADS * len(places)}


def samples_at(stacks: Stacks, is_place: Sequence[bool]) -> Bools:
    """Which samples are at the chosen ones of the places."""
    chosen: Bools = np.array(is_place, bool)[stacks.place] if is_place else np.zeros(0, bool)
    return chosen


def _may_free(place: StackPlace) -> bool:
    """Whether Python there may be that of the objects of a loop that is over: at its own line, or
    at the one that leaves it."""
    text = place.frames[-1].text if place.frames else ""
    return place.doing == "python" and (not text or _ENDS_LOOP.search(text) is not None)


def _calls(used: Sequence[StackPlace]) -> list[list[Line]]:
    """The lines that led to each call that does steps: those of a place that is in no other."""
    paths = [_lines(place) for place in used if place.frames and place.doing != "python"]
    return [
        path
        for path in paths
        if not any(len(each) < len(path) and path[: len(each)] == each for each in paths)
    ]


def _lines(place: StackPlace) -> list[Line]:
    return [(frame.file, frame.line) for frame in place.frames]


def _extended(at_ns: Ints, belongs: Bools, edge_ns: int, *, forward: bool) -> int:
    """Move an end of the loop outwards over the samples next to it that belong to it."""
    outside = np.flatnonzero(at_ns > edge_ns if forward else at_ns < edge_ns)
    for sample in outside if forward else outside[::-1]:
        if not belongs[sample]:
            break
        edge_ns = int(at_ns[sample])
    return edge_ns


class Part(NamedTuple):
    """The part of a length that passed at one place."""

    place: StackPlace
    ms: float
    num_samples: int
    gaps: frozenset[int]
    """Numbers of the steps after which it was seen, -1 before the first."""


def split(program: Regions, chosen: Bools, total_ms: float) -> list[Part]:
    """Divide a length among the places of the chosen samples."""
    stacks = program.stacks
    places, num_places = stacks.place[chosen], len(stacks.places)
    weights = np.bincount(places, stacks.for_ms[chosen], minlength=num_places)
    whole = float(weights.sum())
    if not whole:
        return []
    gaps = program.gap[chosen]
    return [
        Part(
            stacks.places[number],
            float(weights[number]) * total_ms / whole,
            int((places == number).sum()),
            frozenset(gaps[places == number].tolist()),
        )
        for number in np.unique(places)
    ]
