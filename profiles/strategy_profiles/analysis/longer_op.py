"""Which ops make the work of a late replica longer than that of the others?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from strategy_profiles.analysis.account.op_time import lines_of_ops
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.run.tensorflow_names import type_as_written
from strategy_profiles.tables.columns import of_segment, of_steps

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
    rows = rows.filter(pc.equal(rows["category"].cast(pa.string()), "compute"))
    by_name = pa.table(
        {
            "replica": rows["replica"],
            "name": rows["name"].cast(pa.string()),
            "op": rows["op"].cast(pa.string()),
            "ns": rows["duration_ns"],
        }
    )
    grouped = by_name.group_by(["replica", "name", "op"]).aggregate(
        [("ns", "sum"), ("ns", "count")]
    )
    line_of = lines_of_ops(profile, segment)
    of_place: dict[tuple[str, str | None], list[float]] = defaultdict(lambda: [0.0] * 4)
    for row in grouped.to_pylist():
        if row["replica"] != replica and row["replica"] not in others:
            continue
        share = 1.0 if row["replica"] == replica else 1.0 / len(others)
        sums = of_place[type_as_written(row["op"] or ""), line_of.get(row["name"])]
        first = 0 if row["replica"] == replica else 2
        sums[first] += share * row["ns_sum"]
        sums[first + 1] += share * row["ns_count"]
    if not of_place or not steps.size:
        return None
    (op, line), sums = max(of_place.items(), key=lambda item: item[1][0] - item[1][2])
    longer_ms = (sums[0] - sums[2]) / 1e6 / steps.size
    if longer_ms <= 0:
        return None
    return LongerOp(op, line, longer_ms, sums[1] / steps.size, sums[3] / steps.size)
