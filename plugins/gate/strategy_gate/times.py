"""The times of a run as a gate compares them: the step, and its parts in ms per step.

Parts are means over the typical captured steps (`breakdown`), or over the marks of all steps if
none was captured. A part of a replica is the work of its own: compute and delay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from strategy_profiles.analysis.breakdown import step_breakdown
from strategy_profiles.analysis.communication import communication
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.tables.columns import ints, is_one_of, of_segment
from strategy_profiles.tables.schema import CATEGORIES

if TYPE_CHECKING:
    from strategy_profiles.run.events import SegmentOpened
    from strategy_profiles.tables.store import Profile

MOST_OPS = 40
"""Op kinds that are kept, those that take longest."""
LEAST_SHARE = 0.002
"""Of a step: an op kind that takes less is not kept."""


def parts_of_step(profile: Profile, opened: SegmentOpened) -> dict[str, float]:
    """Milliseconds per step by part; a part that is not known is left out."""
    parts: dict[str, float] = {}
    split = step_breakdown(profile, opened)
    for category in CATEGORIES:
        value = split.mean_ms(category)
        if value is not None:
            parts[f"phase {category}"] = value
    if len(split.replicas) > 1:
        for item in split.replicas:
            if item.compute_ms is not None:
                parts[f"replica {item.replica}, own work"] = item.compute_ms + (
                    item.delay_ms or 0.0
                )
    for use in communication(profile, opened).collectives:
        name = f"{use.op} of {use.group_size or 'an unknown group'}"
        if use.wait_ms is not None and use.transfer_ms is not None:
            parts[f"{name}, wait"] = use.wait_ms
            parts[f"{name}, transfer"] = use.transfer_ms
    return parts | _op_kinds(profile, opened, split.mean_ms("wall"))


def _op_kinds(profile: Profile, opened: SegmentOpened, wall_ms: float | None) -> dict[str, float]:
    """How long ops of each kind ran, a mean over replicas; two at a time count twice."""
    columns = ("segment", "step", "category", "op", "duration_ns")
    rows = of_segment(profile.columns("spans", columns), opened.segment)
    steps = typical_captured_steps(profile, opened.segment)
    if not rows.num_rows or not len(steps) or not wall_ms:
        return {}
    chosen = np.isin(ints(rows, "step"), steps) & is_one_of(rows, "category", ("compute",))
    lengths = rows.filter(pa.array(chosen)).select(["op", "duration_ns"])
    totals = lengths.group_by("op").aggregate([("duration_ns", "sum")]).to_pylist()
    per_replica = 1e6 * len(steps) * opened.num_replicas
    kinds = {str(row["op"]): row["duration_ns_sum"] / per_replica for row in totals if row["op"]}
    longest = sorted(kinds, key=lambda op: -kinds[op])[:MOST_OPS]
    return {f"op {op}": kinds[op] for op in longest if kinds[op] >= LEAST_SHARE * wall_ms}
