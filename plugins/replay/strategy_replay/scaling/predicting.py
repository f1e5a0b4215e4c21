"""Step time, throughput and efficiency on N replicas, predicted from runs on fewer.

    step(N) = longest of N computes + all-reduce(N) + longest of N rests

Computes and rests are drawn from the recorded steps of all replicas, so that more replicas wait for
a later one. The all-reduce is that of `all_reduce`. The sum is scaled so that it gives the measured
step of the largest recorded run: what the model does not explain stays as it was measured.

The interval holds 90 % of the medians of resampled steps, between the least and the longest
all-reduce that the recording leaves open, and is widened by the error that `benchmarks.scaling`
measured, per doubling of the replicas.

Replicas of one process that share its cores are replayed instead (`shared_cores`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from strategy_profiles.reporting import units
from strategy_profiles.tables.columns import Floats
from strategy_replay.scaling import shared_cores
from strategy_replay.scaling.all_reduce import AllReduce, all_reduce_of
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.link import Link
from strategy_replay.scaling.own_work import OwnWork, own_work_of
from strategy_replay.scaling.recorded_steps import (
    RecordedSteps,
    last_segment,
    pooled,
    recorded_steps,
    segment_of,
)
from strategy_replay.scaling.shared_cores import shared_cores_of, shares_cores

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

Basis = Literal["measured", "predicted", "on paper"]

MOST_REPLICAS = 1_024
CURVE = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
CHECKED_TIMES = 4
"""The benchmark checks predictions of up to so many times the recorded replicas."""
ON_PAPER = (
    f"On paper: more than {CHECKED_TIMES} times the recorded replicas, or conditions that were not "
    "recorded. Such predictions were not checked against measurements."
)
ERROR_PER_DOUBLING = 0.1
"""Nine of ten predictions of `benchmarks.scaling` are off by less, per doubling."""
MOST_SHARING = 16
"""Most replicas of one process: a replay takes time for the ops of each."""
_DRAWS, _MEDIANS, _SEED = 400, 200, 1


@dataclass(frozen=True, slots=True)
class ScaledStep:
    """The step on a number of replicas. Without an interval it is a measured median."""

    num_replicas: int
    basis: Basis
    step_ms: float
    low_ms: float | None
    high_ms: float | None
    all_reduce_ms: float | None
    """None if the replicas share cores: then it is no part of its own."""
    examples_per_second_at_median: float
    efficiency: float | None
    """Throughput over N times that of one replica, at the same batch per replica; None if that of
    one replica is not known."""


@dataclass(frozen=True, slots=True)
class ScalingPrediction:
    """What one or two recorded runs predict."""

    runs: tuple[str, ...]
    batch_per_replica: float
    gradient_bytes: float | None
    algorithm: str
    link: str | None
    """Name of the described link; None: that of the recording."""
    all_reduce: AllReduce | None
    measured: tuple[ScaledStep, ...]
    """What was recorded, if nothing is changed. `steps` leaves these numbers of replicas out."""
    steps: tuple[ScaledStep, ...]
    notes: tuple[str, ...]
    error_per_doubling: float
    """Nine of ten predictions of `benchmarks.scaling` are off by less, per doubling of replicas."""
    replay_error: float | None
    """Median error of the replay of the recorded steps; None if they were not replayed."""

    @property
    def error_sentence(self) -> str:
        """How wrong a prediction is, as far as that was measured."""
        checked = (
            "In the benchmark of the lab, nine of ten predictions were off by less than "
            f"{units.share(self.error_per_doubling)} per doubling of the replicas; the interval "
            "holds that."
        )
        if self.replay_error is None:
            return checked
        error = units.share(self.replay_error)
        return f"{checked} The recorded steps replay with an error of {error}."

    @property
    def rows(self) -> tuple[ScaledStep, ...]:
        """All steps by the number of replicas; what was measured is not predicted again."""
        return tuple(sorted((*self.measured, *self.steps), key=lambda item: item.num_replicas))


def predict_scaling(
    runs: Sequence[Profile],
    num_replicas: Sequence[int] = CURVE,
    *,
    link: Link | None = None,
    algorithm: str | None = None,
    batch_per_replica: float | None = None,
    segments: Sequence[int] | None = None,
) -> ScalingPrediction:
    """Predict the step on each number of replicas.

    Args:
      runs: recorded runs of one program on fewer replicas, at one batch per replica.
      num_replicas: for which a step is predicted.
      link: over which the replicas would communicate; None: as in the recording.
      algorithm: of the all-reduce; None: as in the recording.
      batch_per_replica: None: as in the recording. Another one needs runs of two batches.
      segments: of each run; None: its last.

    Raises PredictionError, with the reason, if the runs do not allow it.
    """
    _check_numbers(num_replicas)
    chosen = segments if segments is not None else [last_segment(run) for run in runs]
    if any(shares_cores(segment_of(*pair)) for pair in zip(runs, chosen, strict=True)):
        if link is not None or algorithm is not None or batch_per_replica is not None:
            raise PredictionError(
                "The replicas share the cores of one process: how another link, algorithm or batch "
                "changes their step is not modelled",
                advice="Record workers (--strategy multi-worker-mirrored --workers 2)",
            )
        return _predict_shared(runs, chosen, num_replicas)
    recorded = [recorded_steps(run, segment) for run, segment in zip(runs, chosen, strict=True)]
    return predict_from(
        recorded,
        num_replicas,
        link=link,
        algorithm=algorithm,
        batch_per_replica=batch_per_replica,
    )


def _predict_shared(
    runs: Sequence[Profile], segments: Sequence[int], num_replicas: Sequence[int]
) -> ScalingPrediction:
    """Predict by replay: the replicas of a process share its cores."""
    shared = shared_cores_of(runs, segments)
    known = {item.num_replicas: item.step_ms for item in shared.measured}
    one_ms, batch = known.get(1), shared.batch_per_replica
    measured = tuple(
        _row(number, "measured", step_ms, None, None, batch, one_ms)
        for number, step_ms in sorted(known.items())
    )
    most = shared.num_replicas * CHECKED_TIMES
    steps = []
    for number in sorted({*num_replicas} - {*known}):
        if shared.num_replicas < number <= MOST_SHARING:
            basis: Basis = "on paper" if number > most else "predicted"
            steps.append(_row(number, basis, *shared.step_ms(number), None, batch, one_ms))
    left_out = len({*num_replicas} - {*known}) - len(steps)
    return ScalingPrediction(
        runs=tuple(run.name for run in runs),
        batch_per_replica=batch,
        gradient_bytes=shared.segment.parameter_bytes,
        algorithm=shared.segment.cross_device_ops,
        link=None,
        all_reduce=None,
        measured=measured,
        steps=tuple(steps),
        notes=(f"The replicas share {shared.known.recording.cores:g} cores", *_left_out(left_out)),
        error_per_doubling=shared_cores.ERROR_PER_DOUBLING,
        replay_error=shared.known.error,
    )


def _left_out(count: int) -> tuple[str, ...]:
    """Say which numbers of replicas a replay does not predict."""
    text = f"Fewer replicas than were replayed, and more than {MOST_SHARING}, are left out"
    return (text,) if count else ()


def predict_from(
    recorded: Sequence[RecordedSteps],
    num_replicas: Sequence[int],
    *,
    link: Link | None = None,
    algorithm: str | None = None,
    batch_per_replica: float | None = None,
) -> ScalingPrediction:
    """The same from recorded steps."""
    _check_numbers(num_replicas)
    _check_alike(recorded)
    names = tuple(item.run for item in recorded)
    recorded = pooled(recorded)
    own = own_work_of(recorded, batch_per_replica, link)
    reduced = all_reduce_of(recorded, own.base, link, algorithm)
    model = _Model(own, reduced)
    is_changed = own.is_changed or reduced.is_changed
    batch = own.batch_per_replica
    known = {
        item.num_replicas: item
        for item in recorded
        if not is_changed and item.batch_per_replica == batch
    }
    one_ms = known[1].step_ms if 1 in known else model.step_ms(1)[0]
    measured = tuple(
        _row(number, "measured", item.step_ms, None, item.all_reduce_ms, batch, one_ms)
        for number, item in sorted(known.items())
    )
    most = own.base.num_replicas * CHECKED_TIMES
    steps = []
    for number in sorted({*num_replicas} - {*known}):
        middle, interval = model.step_ms(number)
        basis: Basis = "on paper" if number > most or is_changed else "predicted"
        took = reduced.ms(number)
        steps.append(_row(number, basis, middle, interval, took, batch, one_ms))
    return ScalingPrediction(
        runs=names,
        batch_per_replica=batch,
        gradient_bytes=own.base.gradient_bytes,
        algorithm=reduced.algorithm,
        link=link.name if link else None,
        all_reduce=reduced,
        measured=measured,
        steps=tuple(steps),
        notes=(*own.notes, *reduced.notes),
        error_per_doubling=ERROR_PER_DOUBLING,
        replay_error=None,
    )


class _Model:
    """Draws steps; with the same random numbers for every number of replicas."""

    def __init__(self, own: OwnWork, reduced: AllReduce) -> None:
        self._own, self._reduced = own, reduced
        base = own.base
        random = np.random.default_rng(_SEED)
        self._picks = random.integers(0, len(base.wall_ms), (_MEDIANS, len(base.wall_ms)))
        self._late = random.random((2, _MEDIANS, _DRAWS))
        around = base.reduce_ms - np.median(base.reduce_ms)
        self._noise = around[random.integers(0, len(around), (_MEDIANS, _DRAWS))]
        self._rest = self._resampled(own.rest_ms)
        self._compute = self._resampled(base.compute_ms)
        # What the model gives for what was measured.
        plain = self._medians_ms(base.num_replicas, base.all_reduce_ms, 0.0)
        self._factor = base.step_ms / float(np.median(plain))
        self._low_ms = float(np.quantile(plain, 0.05)) * self._factor
        self._compute = self._resampled(own.compute_ms)

    def step_ms(self, num_replicas: int) -> tuple[float, tuple[float, float]]:
        """Return the median step and its interval."""
        own, reduced, factor = self._own, self._reduced, self._factor
        took, more = reduced.ms(num_replicas), reduced.more_ms(num_replicas)
        medians = self._medians_ms(num_replicas, took, more) * factor
        low, high = np.quantile(medians, [0.05, 0.95])
        shorter, longer = reduced.beside_ms(num_replicas)
        doublings = abs(float(np.log2(num_replicas / own.base.num_replicas)))
        wider = ERROR_PER_DOUBLING * doublings
        low = (low - shorter * factor) * max(1 - wider, 0.0)
        high = (high + longer * factor) * (1 + wider)
        if num_replicas >= own.base.num_replicas and not own.is_changed and not reduced.is_changed:
            low = max(low, self._low_ms)  # more replicas never make a step shorter
        return float(np.median(medians)), (max(float(low), 0.0), float(high))

    def _resampled(self, times_ms: Floats) -> Floats:
        """Return the sorted times of each resampling of the steps."""
        return np.sort(times_ms[self._picks].reshape(_MEDIANS, -1), axis=1)

    def _medians_ms(self, num_replicas: int, all_reduce_ms: float, more_ms: float) -> Floats:
        """Return the median step of each resampling."""
        # The longest of N draws is the quantile of a uniform number's Nth root.
        late = self._late ** (1 / num_replicas)
        compute, rest = map(_quantiles, (self._compute, self._rest), late)
        noise = self._noise if num_replicas > 1 else 0.0
        steps = compute + np.maximum(rest + more_ms, 0.0)
        steps += np.maximum(all_reduce_ms + noise, 0.0)
        medians: Floats = np.median(steps, axis=1)
        return medians


def _quantiles(ordered: Floats, at: Floats) -> Floats:
    """Return the quantiles `at` of each row, interpolated between neighbours."""
    position = at * (ordered.shape[1] - 1)
    below = position.astype(np.int64)
    above = np.minimum(below + 1, ordered.shape[1] - 1)
    lower, upper = (np.take_along_axis(ordered, each, axis=1) for each in (below, above))
    between: Floats = lower + (upper - lower) * (position - below)
    return between


def _row(
    number: int,
    basis: Basis,
    step_ms: float,
    interval: tuple[float, float] | None,
    all_reduce_ms: float | None,
    batch_per_replica: float,
    one_ms: float | None,
) -> ScaledStep:
    return ScaledStep(
        num_replicas=number,
        basis=basis,
        step_ms=step_ms,
        low_ms=interval[0] if interval else None,
        high_ms=interval[1] if interval else None,
        all_reduce_ms=all_reduce_ms,
        examples_per_second_at_median=batch_per_replica * number / step_ms * 1e3,
        efficiency=None if one_ms is None else one_ms / step_ms,
    )


def _check_numbers(num_replicas: Sequence[int]) -> None:
    for number in num_replicas:
        if not 1 <= number <= MOST_REPLICAS:
            raise PredictionError(
                f"A prediction is for 1 to {MOST_REPLICAS} replicas, received {number}"
            )


def _check_alike(recorded: Sequence[RecordedSteps]) -> None:
    """Raise PredictionError unless the runs differ in their number of replicas alone.

    They must have gradients of the same size and, those with several replicas, reduce them in the
    same way. A run with one replica reduces nothing, so it fits any algorithm.
    """
    if not recorded:
        raise PredictionError("No run to predict from")
    first = recorded[0]
    for item in recorded[1:]:
        if item.gradient_bytes != first.gradient_bytes:
            raise PredictionError(
                f"{first.run} and {item.run} train different models: their gradients have "
                f"{first.gradient_bytes:,.0f} and {item.gradient_bytes:,.0f} bytes"
            )
    several = [item for item in recorded if item.num_replicas > 1]
    for item in several[1:]:
        for what in ("algorithm", "wire_ms_per_byte"):
            if getattr(item, what) != getattr(several[0], what):
                raise PredictionError(
                    f"{several[0].run} and {item.run} reduce their gradients in different ways: "
                    "another algorithm, or an emulated link of another rate",
                    advice="Name runs that differ in their number of replicas alone",
                )
