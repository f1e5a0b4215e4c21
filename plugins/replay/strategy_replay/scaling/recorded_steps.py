"""What the steps of a recorded segment tell about more replicas: own work, and the all-reduce.

Marks divide every step of a replica: `wall = compute + wait + reduce + rest`, where the reduce
begins when the last replica has its gradients. The rest is the batch, the update, the host, and the
small all-reduce of the loss, in which the replicas of a cluster wait for each other once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from strategy_profiles.analysis.steps import StepTimes, step_times
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.run.topology import has_coordinator
from strategy_profiles.tables.columns import Floats, Ints, floats, ints, of_segment
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.variable_copies import check_variable_copies

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

FEWEST_STEPS = 8
_SMALL = 0.01
"""A collective of at most this share of the gradients' bytes shows the latency."""


@dataclass(frozen=True)
class RecordedSteps:
    """The timed steps of a segment, arrays with a row per step."""

    run: str
    segment: SegmentOpened
    wall_ms: Floats
    compute_ms: Floats
    """Steps x replicas; `rest_ms` likewise."""
    rest_ms: Floats
    reduce_ms: Floats
    gradient_bytes: float
    small_ms: float | None
    """Least time of a captured all-reduce of few bytes; None if none was captured."""
    wire_ms_per_byte: float
    """Of the emulated link; 0: what the link allows is not known."""

    @property
    def num_replicas(self) -> int:
        return self.segment.num_replicas

    @property
    def batch_per_replica(self) -> float:
        assert self.segment.global_batch_size is not None
        return self.segment.global_batch_size / self.num_replicas

    @property
    def algorithm(self) -> str:
        return self.segment.cross_device_ops

    @property
    def step_ms(self) -> float:
        """Median length of a step."""
        return float(np.median(self.wall_ms))

    @property
    def all_reduce_ms(self) -> float:
        """Median time of a step's all-reduce; 0 for one replica."""
        return float(np.median(self.reduce_ms)) if self.num_replicas > 1 else 0.0


def last_segment(profile: Profile) -> int:
    """Return the number of the run's last segment. Raises PredictionError if it has none."""
    if not profile.segments:
        raise PredictionError(f"{profile.name} recorded no step")
    return profile.segments[-1].segment


def segment_of(profile: Profile, segment: int) -> SegmentOpened:
    """Return a segment by its number. Raises PredictionError if the run has none."""
    for opened in profile.segments:
        if opened.segment == segment:
            return opened
    raise PredictionError(f"{profile.name} has no segment {segment}")


def recorded_steps(profile: Profile, segment: int) -> RecordedSteps:
    """Return what a segment's steps tell. Raises PredictionError if they do not allow it."""
    opened = segment_of(profile, segment)
    _check(profile, opened)
    steps = step_times(profile, segment)
    _check_number(profile, "timed steps", int(steps.timed.sum()))
    wall, compute, reduce, rest = _phases(profile, opened, steps)
    _check_number(profile, "steps with the timestamps of all replicas", len(wall))
    num_bytes = float(opened.parameter_bytes or np.nan)
    if np.isnan(num_bytes):
        raise PredictionError(f"The size of the gradients of {profile.name} is not known")
    rate_mbit = opened.spec.get("network", {}).get("rate_mbit") if opened.is_of_lab else None
    return RecordedSteps(
        profile.name,
        opened,
        wall,
        compute,
        rest,
        reduce,
        num_bytes,
        _small_ms(profile, segment, num_bytes),
        8e-3 / rate_mbit if rate_mbit else 0.0,  # ms per byte = 8 bits / (10^6 bits per s) * 10^3
    )


def pooled(recorded: Sequence[RecordedSteps]) -> list[RecordedSteps]:
    """Return one item per number of replicas and batch, with the steps of all its runs."""
    groups: dict[tuple[int, float], list[RecordedSteps]] = {}
    for item in recorded:
        groups.setdefault((item.num_replicas, item.batch_per_replica), []).append(item)
    return [_together(items) for items in groups.values()]


def _together(items: Sequence[RecordedSteps]) -> RecordedSteps:
    smalls = [item.small_ms for item in items if item.small_ms is not None]
    return replace(
        items[0],
        wall_ms=np.concatenate([item.wall_ms for item in items]),
        compute_ms=np.concatenate([item.compute_ms for item in items]),
        rest_ms=np.concatenate([item.rest_ms for item in items]),
        reduce_ms=np.concatenate([item.reduce_ms for item in items]),
        small_ms=min(smalls, default=None),
    )


def _check(profile: Profile, segment: SegmentOpened) -> None:
    if profile.is_imported:
        raise PredictionError(
            "An imported profile records neither its strategy nor its batch size, on which the "
            "step of more replicas depends"
        )
    if has_coordinator(segment):
        raise PredictionError(
            f"Run {profile.name} used parameter servers: its workers do not wait for each other, "
            "and how its servers share their links is not modelled"
        )
    check_variable_copies(profile, segment)
    if segment.global_batch_size is None:
        raise PredictionError(f"The batch size of {profile.name} is not known")
    if injected_delays(segment):
        raise PredictionError(
            f"{profile.name} has an injected delay: which added replicas would have one is unknown",
            advice="Record the run without --inject",
        )
    if profile.absent_workers(segment):
        raise PredictionError(f"The records of a worker of {profile.name} are missing")


def _check_number(profile: Profile, what: str, number: int) -> None:
    if number < FEWEST_STEPS:
        raise PredictionError(
            f"{profile.name} has {number} {what}, and a prediction needs {FEWEST_STEPS}",
            advice="Record more steps",
        )


def _phases(
    profile: Profile, segment: SegmentOpened, steps: StepTimes
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return wall, compute, reduce and rest of the timed steps of which all replicas have marks."""
    rows = of_segment(profile.table("marks"), segment.segment)
    known = np.isfinite(floats(rows, "wait_ms") + floats(rows, "reduce_ms"))
    rows = rows.filter(pa.array(known))
    if not rows.num_rows:
        raise PredictionError(
            f"The steps of {profile.name} have no timestamps of their replicas",
            advice="Record the run with strategy-lab run; imported profiles have none",
        )
    number, replica = ints(rows, "step"), ints(rows, "replica")
    timed = steps.step[steps.timed]
    at = np.searchsorted(timed, number)
    inside = (at < len(timed)) & (timed[np.minimum(at, len(timed) - 1)] == number)
    size = (len(timed), segment.num_replicas)
    compute, wait, reduce = (
        _table(size, at[inside], replica[inside], floats(rows, name)[inside])
        for name in ("compute_ms", "wait_ms", "reduce_ms")
    )
    whole = np.isfinite(compute + wait + reduce).all(axis=1)
    compute, wait, reduce = (np.maximum(each[whole], 0.0) for each in (compute, wait, reduce))
    wall = steps.timed_ms[whole]
    # The reduce that all share; what a replica has beyond it belongs to its rest.
    shared = reduce.min(axis=1) if segment.num_replicas > 1 else np.zeros(len(wall))
    rest = np.maximum(wall[:, None] - compute - wait - shared[:, None], 0.0)
    return wall, compute, shared, rest


def _table(size: tuple[int, int], row: Ints, column: Ints, values: Floats) -> Floats:
    matrix = np.full(size, np.nan)
    matrix[row, column] = values
    return matrix


def _small_ms(profile: Profile, segment: int, gradient_bytes: float) -> float | None:
    rows = of_segment(profile.table("collectives"), segment)
    sizes, took = floats(rows, "bytes"), floats(rows, "transfer_ms")
    small = (sizes <= _SMALL * gradient_bytes) & (took > 0)
    return float(took[small].min()) if small.any() else None
