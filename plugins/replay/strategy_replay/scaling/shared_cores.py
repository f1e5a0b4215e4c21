"""Replicas of one process that share its CPU cores: the captured steps replayed with more of them.

The replay repeats the ops of the recorded replicas and shares the cores among all. Three times do
not follow from the ops: the host's requests for batches and the start of each replica's part of the
step come one after another, so they grow with N; an all-reduce moves more bytes, over cores that
are shared, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_profiles.analysis.steps import step_times
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.injected_delay import injected_delays
from strategy_profiles.step_graph.graph import ENTRY, HOST
from strategy_profiles.step_graph.recording import ReplayError
from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.collective_cost import cost
from strategy_replay.engine.replays import Replay, Replays, replays
from strategy_replay.engine.simulate import simulate
from strategy_replay.scaling.errors import PredictionError
from strategy_replay.scaling.recorded_steps import segment_of
from strategy_replay.scaling.variable_copies import check_variable_copies
from strategy_replay.scaling.with_replicas import with_replicas

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

ERROR_PER_DOUBLING = 0.14
"""Nine of ten predictions of `benchmarks.scaling --only shared` are off by less, per doubling."""
_MOST_STEPS = 8
_DRAWS, _SEED = 1000, 1


@dataclass(frozen=True, slots=True)
class MeasuredStep:
    """Median length of the steps of a run."""

    num_replicas: int
    step_ms: float


@dataclass(frozen=True)
class SharedCores:
    """The run that is replayed, and its bare step."""

    known: Replays
    bare_ms: float
    """Median step without captures, which make steps longer."""
    measured: tuple[MeasuredStep, ...]

    @property
    def batch_per_replica(self) -> float:
        assert self.segment.global_batch_size is not None
        return self.segment.global_batch_size / self.num_replicas

    @property
    def num_replicas(self) -> int:
        return self.segment.num_replicas

    @property
    def segment(self) -> SegmentOpened:
        return self.known.recording.segment

    def ratios(self, num_replicas: int) -> Floats:
        """Return, per replayed step, its length with so many replicas over that as recorded."""
        chosen = self.known.steps[:: max(1, len(self.known.steps) // _MOST_STEPS)]
        ratios: Floats = np.array(
            [
                _length_ns(step, num_replicas, self.num_replicas, self.segment.cross_device_ops)
                / step.schedule.length_ns
                for step in chosen
            ]
        )
        return ratios

    def step_ms(self, num_replicas: int) -> tuple[float, tuple[float, float]]:
        """Return the step, and 90 % of the medians of resampled steps widened by the errors of the
        replay and of such predictions."""
        ratios = self.ratios(num_replicas)
        draws = np.random.default_rng(_SEED).choice(ratios, (_DRAWS, len(ratios)))
        low, high = np.quantile(np.median(draws, axis=1), [0.05, 0.95]) * self.bare_ms
        doublings = float(np.log2(num_replicas / self.num_replicas))
        error = self.known.error + ERROR_PER_DOUBLING * doublings
        return float(np.median(ratios)) * self.bare_ms, (
            float(low) * max(1 - error, 0.0),
            float(high) * (1 + error),
        )


def shares_cores(segment: SegmentOpened) -> bool:
    """Whether several replicas of a process run on its CPU cores."""
    on_cpus = all("CPU" in device for device in segment.replica_devices)
    return segment.num_replicas > segment.num_workers and on_cpus


def shared_cores_of(runs: Sequence[Profile], segments: Sequence[int]) -> SharedCores:
    """Return the run with most replicas, replayed, beside what all runs measured.

    Raises PredictionError if the runs are not alike, or that run has too few captured steps.
    """
    opened = [segment_of(*pair) for pair in zip(runs, segments, strict=True)]
    _check(runs, opened)
    measured = []
    for profile, item in zip(runs, opened, strict=True):
        step_ms = step_times(profile, item.segment).median_ms
        if step_ms is None:
            raise PredictionError(
                f"No step of run {profile.name} is timed",
                advice="Record it again with 10 steps or more",
            )
        measured.append(MeasuredStep(item.num_replicas, step_ms))
    most = max(range(len(runs)), key=lambda at: opened[at].num_replicas)
    try:
        known = replays(runs[most], segments[most])
    except ReplayError as error:
        raise PredictionError(
            f"The replicas of run {runs[most].name} share the cores of one process, which only a "
            f"replay predicts: {error}"
        ) from None
    return SharedCores(known, measured[most].step_ms, tuple(measured))


def _check(runs: Sequence[Profile], opened: Sequence[SegmentOpened]) -> None:
    for profile, item in zip(runs, opened, strict=True):
        if item.num_workers > 1 or item.core_devices:
            kind = "workers" if item.num_workers > 1 else "emulated TPU cores"
            raise PredictionError(
                f"{profile.name} is {item.strategy} on {item.size}: a replay predicts replicas of "
                f"one process, and no {kind}",
                advice="Name runs of one strategy",
            )
        check_variable_copies(profile, item)
        if injected_delays(item):
            raise PredictionError(
                f"{profile.name} has an injected delay, and which of more replicas would be "
                "delayed is not known",
                advice="Record the run without --inject",
            )
    batches = {(item.global_batch_size or 0) / item.num_replicas for item in opened}
    if len(batches) > 1 or 0 in batches or len({item.parameter_bytes for item in opened}) > 1:
        raise PredictionError(
            "The runs differ in their model or their batch per replica, or one is not known",
            advice="Name runs that differ in their number of replicas alone",
        )


def _length_ns(step: Replay, num_replicas: int, num_recorded: int, algorithm: str) -> float:
    graph, taken = with_replicas(step.graph, num_replicas)
    work, gaps = step.work_ns[taken].copy(), step.gap_ns[taken].copy()
    more = num_replicas / num_recorded
    category = np.array(graph.nodes.category)
    work[category == HOST] *= more
    gaps[graph.nodes.launch == ENTRY] *= more
    moved, recorded = (cost(algorithm, num, 1.0)[1] for num in (num_replicas, num_recorded))
    crowded = max(1.0, num_replicas / step.cores) / max(1.0, num_recorded / step.cores)
    work[category == "collective"] *= moved / recorded * crowded
    return simulate(graph, work, gaps, step.cores).length_ns
