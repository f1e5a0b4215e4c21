"""Steps on more replicas, as one answer for the page and the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from strategy_profiles.answers.answer import Answer, Bold, Column, Table, table
from strategy_profiles.reporting import units
from strategy_replay.scaling.predicting import ON_PAPER, ScaledStep, ScalingPrediction
from strategy_replay.scaling.tpu_mesh import LABEL, MeshPrediction
from strategy_replay.scaling.tpu_mesh import sentence as about_mesh


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


def more_replicas(predicted: ScalingPrediction) -> Answer:
    """Return what twice the replicas would bring, and the step by the number of replicas."""
    notes = tuple(_of_scaling(predicted))
    steps = table("scaling", "Steps on more replicas", predicted.rows, _SCALED, notes=notes)
    return Answer("scaling", _doubled(predicted), parts=(steps,))


def _doubled(predicted: ScalingPrediction) -> tuple[str, ...]:
    """Compare twice the largest recorded number of replicas with it; without a recorded step the
    smallest predicted one."""
    first = max(predicted.measured or predicted.rows[:1], key=lambda item: item.num_replicas)
    more = (item for item in predicted.rows if item.num_replicas >= 2 * first.num_replicas)
    last = next(more, None)
    if last is None:
        return ()
    gain = last.examples_per_second_at_median / first.examples_per_second_at_median
    counts = f"{units.counted(last.num_replicas, 'replica')} instead of {first.num_replicas}"
    step = f"{units.milliseconds(last.step_ms)} ({_interval(last)})"
    return (
        f"On {counts}, the program would train ",
        Bold(f"{units.number(gain)} times as many examples per second"),
        f": a step would take {step} instead of {units.milliseconds(first.step_ms)}.",
    )


def _of_scaling(predicted: ScalingPrediction) -> Iterator[str]:
    link = f" over {predicted.link}" if predicted.link else ""
    moved = f"{units.size(predicted.gradient_bytes)} of gradients by {predicted.algorithm}{link}."
    counts = [units.counted(item.num_replicas, "replica") for item in predicted.measured]
    measured = f" Measured on {units.listed(counts)}." if counts else ""
    yield (
        f"From {units.listed(predicted.runs)}: {predicted.batch_per_replica:g} examples per "
        f"replica, {moved}{measured}"
    )
    yield from (f"{note}." for note in predicted.notes)
    yield predicted.error_sentence
    if any(item.basis == "on paper" for item in predicted.rows):
        yield ON_PAPER


def on_a_mesh(predicted: MeshPrediction) -> Table:
    """Return the all-reduces of emulated TPU cores on meshes of TPU chips, on paper."""
    notes = (LABEL, about_mesh(predicted))
    return table("mesh_times", "All-reduces on a mesh", predicted.times, _ON_MESH, notes=notes)
