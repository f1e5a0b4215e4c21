"""Which ops make the work of a late replica longer than that of the others, or grow?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from strategy_profiles.analysis.account.op_time import computing_spans, distinct_ops, lines_of_ops
from strategy_profiles.analysis.steps import step_times, typical_captured_steps
from strategy_profiles.run.tensorflow_names import type_as_written
from strategy_profiles.tables.columns import Bools, ints
from strategy_profiles.tables.store import Profile, once


class LongerOp(Struct, frozen=True):
    """The ops of one type and line that take most of what a replica computes longer."""

    op: str
    line: str | None
    """File and line of the program that made them, as in the placement table."""
    longer_ms: float
    """Per step, than on the other replicas on average, or in the earlier steps."""
    count: float
    """Of this replica, or in the later steps, per step."""
    count_of_others: float
    """Of another replica, or in the earlier steps, per step; a mean."""


def longer_op(
    profile: Profile, segment: int, replica: int, others: Collection[int]
) -> LongerOp | None:
    """Of the typical captured steps; None without captures, or if no op takes longer."""
    steps = typical_captured_steps(profile, segment)
    rows = computing_spans(profile, segment, steps)
    replicas = pa.array([replica, *others], rows.schema.field("replica").type)
    rows = rows.filter(pc.is_in(rows["replica"], replicas))
    is_late, num_steps = ints(rows, "replica") == replica, max(1, steps.size)
    return _longer(profile, segment, rows, is_late, (num_steps, num_steps * len(others)))


@once
def growing_op(profile: Profile, segment: int) -> LongerOp | None:
    """The ops that take longer in the later half of the captured steps than in the earlier one, of
    all replicas; None without two captured steps, or if no op takes longer."""
    times = step_times(profile, segment)
    steps = times.step[times.captured & times.typical]
    if steps.size < 2:
        return None
    earlier, later = np.array_split(steps, 2)
    rows = computing_spans(profile, segment, steps)
    is_later = ints(rows, "step") >= later[0]
    return _longer(profile, segment, rows, is_later, (later.size, earlier.size))


def _longer(
    profile: Profile, segment: int, rows: pa.Table, is_late: Bools, nums: tuple[int, int]
) -> LongerOp | None:
    """What takes longest in some rows beyond what it takes in the others; `nums` are the steps that
    either are of."""
    names, ops, number = distinct_ops(rows)
    length_ms = ints(rows, "duration_ns") / 1e6
    share = np.where(is_late, 1.0 / nums[0], -1.0 / nums[1])
    longer_ms = np.bincount(number, share * length_ms)
    counts = [
        np.bincount(number, np.where(of_late, np.abs(share), 0.0), len(names))
        for of_late in (is_late, ~is_late)
    ]
    line_of = lines_of_ops(profile, segment)
    of_place: dict[tuple[str, str | None], NDArray[np.float64]] = defaultdict(lambda: np.zeros(3))
    sums_of_ops = np.stack([longer_ms, *counts], axis=1)
    for name, op, sums in zip(names, ops, sums_of_ops, strict=True):
        of_place[type_as_written(op), line_of.get(name)] += sums
    if not of_place:
        return None
    (kind, line), sums = max(of_place.items(), key=lambda item: float(item[1][0]))
    return LongerOp(kind, line, *map(float, sums)) if sums[0] > 0 else None
