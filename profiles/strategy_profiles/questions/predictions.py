"""How long would a step take on more replicas, and what do differences between replicas cost?"""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.answers.answer import Column, Table, table
from strategy_profiles.prediction.scaling import ON_PAPER, ScaledStep, ScalingPrediction
from strategy_profiles.prediction.tpu_mesh import LABEL, MeshPrediction
from strategy_profiles.prediction.tpu_mesh import sentence as about_mesh
from strategy_profiles.replay.slowdowns import LEAST, Slowdowns
from strategy_profiles.reporting import units

MOST_OPS = 15
_S = (
    "S is the replayed step over an ideal one, in which each replica takes the mean of the "
    "replicas for the ops of a type, and the median for delays and transfers. S_t leaves the ops "
    "of type t as they are, S_w replica w."
)


def _interval(item: ScaledStep) -> str:
    if item.low_ms is None or item.high_ms is None:
        return "measured"
    return f"{units.number(item.low_ms)} to {units.milliseconds(item.high_ms)}"


_SCALED = (
    Column("num_replicas", "Replicas", "count"),
    Column("step_ms", "Step", "ms"),
    Column("interval", "Interval", value=_interval),
    Column("examples_per_second_at_median", "Examples/s", "number"),
    Column("efficiency", "Efficiency", "share"),
    Column("basis", "Basis"),
)
_ON_MESH = (
    Column("num_replicas", "Replicas", "count"),
    Column("num_chips", "Chips", "count"),
    Column("mesh", "Mesh", value=lambda item: " × ".join(map(str, item.mesh))),
    Column("between", "All-reduces of a step"),
)
_SLOWDOWNS = (
    Column("figure", "Figure", value=lambda row: row[0]),
    Column("of", "Of", "name", value=lambda row: row[1]),
    Column("times", "Times an ideal step", "number", value=lambda row: row[2]),
)


def more_replicas(found: ScalingPrediction) -> Table:
    """Return the step by the number of replicas."""
    notes = tuple(_of_scaling(found))
    return table("scaling", "Steps on more replicas", found.rows, _SCALED, notes=notes)


def _of_scaling(found: ScalingPrediction) -> Iterator[str]:
    link = f" over {found.link}" if found.link else ""
    moved = f"{units.size(found.gradient_bytes)} of gradients by {found.algorithm}{link}."
    counts = [units.counted(item.num_replicas, "replica") for item in found.measured]
    measured = f" Measured on {units.listed(counts)}." if counts else ""
    yield (
        f"From {units.listed(found.runs)}: {found.batch_per_replica:g} examples per replica, "
        f"{moved}{measured}"
    )
    yield from (f"{note}." for note in found.notes)
    yield found.error_sentence
    if any(item.basis == "on paper" for item in found.rows):
        yield ON_PAPER


def on_a_mesh(found: MeshPrediction) -> Table:
    """Return the all-reduces of emulated TPU cores on meshes of TPU chips, on paper."""
    notes = (LABEL, about_mesh(found))
    return table("mesh_times", "All-reduces on a mesh", found.times, _ON_MESH, notes=notes)


def slower(found: Slowdowns) -> Table:
    """Return what differences between replicas cost: in all, by type of op, by replica."""
    rows = [("S", "all replicas", found.whole)]
    rows += [("S_t", op, value) for op, value in list(found.by_op.items())[:MOST_OPS]]
    rows += [("S_w", f"replica {each}", value) for each, value in found.by_replica.items()]
    is_equal = found.whole < LEAST
    return table(
        "slowdowns",
        "What differences between replicas cost",
        () if is_equal else rows,
        _SLOWDOWNS,
        empty="The replicas take as long as each other: S is 1.00.",
        definition=_S,
        depths=() if is_equal else (0, *[1] * (len(rows) - 1)),
    )
