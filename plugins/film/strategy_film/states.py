"""What each replica does at each moment of a captured step: states that cover the step once.

The rule is that of `strategy_profiles.capture.attribution`, applied to the recorded tables: the
first of delay, compute, transfer, wait and input that applies, else idle.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from strategy_film.scene import State
from strategy_profiles.capture.intervals import Intervals
from strategy_profiles.tables.columns import sorted_distinct

IDLE, OUTSIDE = "idle", "outside"
Bounds = tuple[int, int]
_NEAR_NS = 1_000
"""Lengths are recorded in ms as a float."""


def partition(
    phases: Sequence[tuple[str, Intervals]], own: Bounds, whole: Bounds
) -> tuple[State, ...]:
    """Return states that cover `whole` without overlap, counted from its start.

    `own` is the replica's own step in it. Where several phases apply, the first one counts.
    """
    begin, end = max(own[0], whole[0]), min(own[1], whole[1])
    edges = [np.array([begin, end, *whole], np.int64)]
    for _, intervals in phases:
        edges += [np.clip(intervals.starts, begin, end), np.clip(intervals.ends, begin, end)]
    starts = sorted_distinct(np.concatenate(edges))[:-1]
    names = [*(name for name, _ in phases), IDLE, OUTSIDE]
    code = np.full(len(starts), len(phases), np.int64)
    for number in reversed(range(len(phases))):
        code[phases[number][1].contains(starts)] = number
    code[(starts < begin) | (starts >= end)] = len(phases) + 1
    first = np.flatnonzero(np.diff(code, prepend=-1))
    ends = np.append(starts[first[1:]], whole[1])
    return tuple(
        State(int(starts[at]) - whole[0], until - whole[0], names[code[at]])
        for at, until in zip(first.tolist(), ends.tolist(), strict=True)
    )


def with_wait_at_the_end(states: tuple[State, ...], recorded_wait_ns: int) -> tuple[State, ...]:
    """Return the states with the part of the recorded wait that no span explains.

    A replica whose ops are done waits until those of the others are. A capture records the length
    of this wait and no span for it: it begins with the last idle time that is long enough.
    """
    known = sum(state.end_ns - state.start_ns for state in states if state.phase == "wait")
    missing = recorded_wait_ns - known
    for at in range(len(states) - 1, -1, -1):
        start, end, phase = states[at]
        if phase == IDLE and _NEAR_NS < missing <= end - start + _NEAR_NS:
            until = min(start + missing, end)
            split = [State(start, until, "wait"), State(until, end, IDLE)]
            return (*states[:at], *split[: 1 + (until < end)], *states[at + 1 :])
    return states
