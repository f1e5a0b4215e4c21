"""Divides the computation of captured steps by layer and type of op."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    line: str | None = None
    """File and line of the program that made the longest of the ops, as in the placement table."""
    trains: bool = False
    """Whether they are gradients, or gradients of their layer are computed."""


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
    lengths = grouped["ns_sum"].to_pylist()
    paths = [scoped(name) for name in names]
    of_models = models(paths)
    line_of = _lines(profile, segment)
    layers = [layer_of(path, of_models) for path in paths]
    trained = {layer for layer, path in zip(layers, paths, strict=True) if path.is_gradient}
    found: dict[tuple[str | None, str], Counter[tuple[str | None, bool]]] = defaultdict(Counter)
    for name, layer, op, length in zip(names, layers, ops, lengths, strict=True):
        kind = type_as_written(op or "")
        named = None if layer is not None and layer.startswith(kind) else layer
        found[named, kind][line_of.get(name), layer is not None and layer in trained] += length
    whole = float(sum(lengths)) or 1.0
    times = [_one(*key, parts, whole) for key, parts in found.items()]
    return tuple(sorted(times, key=lambda time: -time.share))


def _one(
    layer: str | None, op: str, parts: Counter[tuple[str | None, bool]], whole: float
) -> OpTime:
    (line, trains), _ = parts.most_common(1)[0]
    return OpTime(layer, op, float(parts.total()) / whole, line, trains)


def _lines(profile: Profile, segment: int) -> dict[str, str]:
    """The line that made each op, by the op's name."""
    placed = profile.columns("placement", ("segment", "name", "source_line"))
    rows = of_segment(placed, segment)
    rows = rows.filter(rows["source_line"].is_valid())
    return dict(zip(rows["name"].to_pylist(), rows["source_line"].to_pylist(), strict=True))
