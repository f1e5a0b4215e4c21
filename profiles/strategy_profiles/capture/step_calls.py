"""The steps inside of recorded calls: a call may do several, and a call may be abandoned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from strategy_profiles.capture.xspace import Events
from strategy_profiles.tables.columns import Ints


def steps_of_calls(
    number: Ints, start_ns: Ints, end_ns: Ints, calls: Mapping[int, int], ops: Events
) -> tuple[Ints, Ints, Ints]:
    """Return number, start and end of each step inside the annotated calls.

    `calls` has the number of steps of each recorded call, by its first step. An annotation that is
    not among them was abandoned: its data had ended. A step of several begins with the first op
    that the call runs once per step; without such an op, the steps get equal parts of the call.
    """
    step_rows: list[tuple[int, int, int]] = []
    for first, start, end in zip(number.tolist(), start_ns.tolist(), end_ns.tolist(), strict=True):
        num_steps = calls.get(first, 0)
        if num_steps:
            bounds = [start, *_later_starts(start, end, num_steps, ops), end]
            step_rows += [(first + i, bounds[i], bounds[i + 1]) for i in range(num_steps)]
    columns = np.asarray(step_rows, np.int64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def _later_starts(start: int, end: int, num_steps: int, ops: Events) -> list[int]:
    """Return when the second and later steps of a call begin, in ns."""
    if num_steps == 1:
        return []
    inside = (ops.start_ns >= start) & (ops.start_ns < end)
    names, starts = ops.name[inside], ops.start_ns[inside]
    once_per_step = np.flatnonzero(np.bincount(names) == num_steps)
    if not len(once_per_step):
        return [start + (end - start) * i // num_steps for i in range(1, num_steps)]
    chosen = np.isin(names, once_per_step)
    order = np.lexsort((starts[chosen], names[chosen]))
    by_name = starts[chosen][order].reshape(-1, num_steps)
    later: list[int] = by_name.min(axis=0)[1:].tolist()
    return later
