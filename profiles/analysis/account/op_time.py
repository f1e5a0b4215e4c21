"""Divides the computation of captured steps by layer and type of op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from strategy_lab.profiles.analysis.model_graph.scopes import layer_of, models, scoped
from strategy_lab.profiles.analysis.steps import typical_captured_steps
from strategy_lab.profiles.run.tensorflow_names import type_as_written
from strategy_lab.profiles.tables.columns import of_segment, of_steps

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile


@dataclass(frozen=True, slots=True)
class OpTime:
    """What one type of op takes in one layer."""

    layer: str | None
    op: str
    share: float
    """Of the time of all ops of replicas that compute."""


def op_times(profile: Profile, segment: int) -> tuple[OpTime, ...]:
    """The ops of the typical captured steps, the longest first; empty without captures."""
    return profile.once(("op-times", segment), lambda: _op_times(profile, segment))


def _op_times(profile: Profile, segment: int) -> tuple[OpTime, ...]:
    steps = set(typical_captured_steps(profile, segment).tolist())
    columns = ("segment", "step", "replica", "name", "op", "category", "duration_ns")
    rows = of_segment(of_steps(profile.columns("spans", columns), steps), segment)
    is_own = pc.and_(
        pc.equal(rows["category"].cast(pa.string()), "compute"), rows["replica"].is_valid()
    )
    rows = rows.filter(is_own)
    if not rows.num_rows:
        return ()
    rows = rows.set_column(0, "name", rows["name"].cast(pa.string())).select([0, 4, 6])
    grouped = (
        pa.table({"name": rows[0], "op": rows[1].cast(pa.string()), "ns": rows[2]})
        .group_by(["name", "op"])
        .aggregate([("ns", "sum")])
    )
    names, ops = grouped["name"].to_pylist(), grouped["op"].to_pylist()
    lengths = np.array(grouped["ns_sum"].to_pylist(), np.float64)
    paths = [scoped(name) for name in names]
    of_models = models(paths)
    found: dict[tuple[str | None, str], float] = {}
    for path, op, length in zip(paths, ops, lengths, strict=True):
        layer, kind = layer_of(path, of_models), type_as_written(op or "")
        key = None if layer is not None and layer.startswith(kind) else layer, kind
        found[key] = found.get(key, 0.0) + float(length)
    whole = float(lengths.sum()) or 1.0
    ordered = sorted(found.items(), key=lambda item: -item[1])
    return tuple(OpTime(layer, op, length / whole) for (layer, op), length in ordered)
