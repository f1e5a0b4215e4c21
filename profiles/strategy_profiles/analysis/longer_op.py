"""Which ops make the work of a late replica longer than that of the others?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct
from numpy.typing import NDArray

from strategy_profiles.analysis.account.op_time import distinct_ops, lines_of_ops
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.run.tensorflow_names import type_as_written
from strategy_profiles.tables.columns import ints, of_segment, of_steps

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile


class LongerOp(Struct, frozen=True):
    """The ops of one type and line that take most of what a replica computes longer."""

    op: str
    line: str | None
    """File and line of the program that made them, as in the placement table."""
    longer_ms: float
    """Per step, than on the other replicas on average."""
    count: float
    """Of this replica, per step."""
    count_of_others: float
    """Of another replica, per step; a mean."""


def longer_op(
    profile: Profile, segment: int, replica: int, others: Collection[int]
) -> LongerOp | None:
    """Of the typical captured steps; None without captures, or if no op takes longer."""
    steps = typical_captured_steps(profile, segment)
    columns = ("segment", "step", "replica", "name", "op", "category", "duration_ns")
    rows = of_segment(of_steps(profile.columns("spans", columns), set(steps.tolist())), segment)
    replicas = pa.array([replica, *others], rows.schema.field("replica").type)
    is_own = pc.equal(rows["category"].cast(pa.string()), "compute")
    rows = rows.filter(pc.and_(is_own, pc.is_in(rows["replica"], replicas)))
    names, ops, number = distinct_ops(rows)
    length_ms, is_late = ints(rows, "duration_ns") / 1e6, ints(rows, "replica") == replica
    share = np.where(is_late, 1.0, -1.0 / len(others)) / max(1, steps.size)
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
