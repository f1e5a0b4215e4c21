"""How long would a step be with an edit? The prediction with its error and its interval.

    predicted = median over steps of (T_measured + T_edited - T_replay)

What the replay does not explain of a step stays as it was measured. A prediction has two intervals:

- of the recorded steps: it holds 90 % of the medians of resampled steps (bootstrap), and is widened
  at both ends by the 95th percentile of the replay error, and by 10 % more if workers without
  recorded ops take part. If an edit depends on a quantity that the recording leaves open, the
  interval holds those of its extremes. It tells whether the edit changes anything.
- of another run: 90 % of the medians of runs that really have the change. Two runs of one spec
  differ by more than the steps within one, so the logarithms of both ends are widened by the
  difference of two runs, as a sum of squares (`run_difference`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_profiles.analysis.compare.run_spread import ASSUMED_SPREAD
from strategy_profiles.tables.columns import Floats
from strategy_replay.engine.edits import (
    AdvisedEdit,
    Edit,
    ExamplesEdit,
    Times,
    UncertainEdit,
)
from strategy_replay.engine.replays import Replay, Replays, replays
from strategy_replay.engine.simulate import Schedule, simulate

if TYPE_CHECKING:
    from strategy_profiles.tables.store import Profile

_BETWEEN_RUNS_OF_WORKERS = 0.1
"""Of 21 pairs of runs of two workers on two cores, 14 were within the interval without it, 20 with
it. Runs of one spec differed by up to 25 % from their median."""
_DRAWS = 1000
_SEED = 1


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A prediction beside what was measured. Steps are captured ones; lengths are medians."""

    segment: int
    edits: tuple[str, ...]
    """Titles of the edits, in their order."""
    num_steps: int
    measured_ms: float
    replayed_ms: float
    replay_error: float
    """Median of `|T_replay - T_measured| / T_measured`."""
    replay_error_p95: float
    unexplained_ms: float
    """Median of `T_measured - T_replay`."""
    predicted_ms: float
    low_ms: float
    """Lower end of the interval of the prediction: medians of another run with the change."""
    high_ms: float
    least_ms: float
    """Lower end of the interval of the recorded steps alone."""
    most_ms: float
    run_spread: float
    """Standard deviation of the logarithm of a run's step time over runs of one spec."""
    num_other_runs: int
    """Runs of this spec that tell it; 0: it is assumed."""
    times_examples: float = 1.0
    """Examples of a step with the edits over those of a step without them."""
    advice: tuple[str, ...] = ()
    """What to record for a more precise prediction."""

    @property
    def same_ms(self) -> float:
        """Length of a step with the edits that takes as long for an example as a measured one."""
        return self.measured_ms * self.times_examples

    @property
    def speedup(self) -> float:
        """`T_measured / T_predicted`, of the time of an example if their number changes."""
        return self.same_ms / self.predicted_ms if self.predicted_ms > 0 else float("inf")

    @property
    def is_within_error(self) -> bool:
        """Whether the interval of the recorded steps holds what was measured: the edit may change
        nothing."""
        return self.least_ms <= self.same_ms <= self.most_ms


def what_if(profile: Profile, segment: int, edits: Sequence[Edit]) -> WhatIf:
    """Predict a segment's step with these edits.

    Raises ReplayError if the recording does not allow it, or has nothing that an edit changes.
    """
    return predict(replays(profile, segment), edits)


def predict(known: Replays, edits: Sequence[Edit]) -> WhatIf:
    """Return the prediction from replayed steps.

    Its intervals cover the replays' error around the median, also with each uncertain edit at its
    extremes.
    """
    lengths = _lengths_ms(known, edits)
    others = [_lengths_ms(known, extreme) for extreme in _extremes(edits)]
    error = known.error_p95
    if any(step.graph.timed for step in known.steps):
        error += _BETWEEN_RUNS_OF_WORKERS
    ends = [_interval(each, error) for each in (lengths, *others)]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    predicted = float(np.median(lengths))
    low, high = _of_another_run((least, predicted, most), known.run_difference)
    return WhatIf(
        segment=known.recording.segment.segment,
        edits=tuple(edit.title for edit in edits),
        num_steps=len(known.steps),
        measured_ms=known.measured_ms,
        replayed_ms=known.replayed_ms,
        replay_error=known.error,
        replay_error_p95=known.error_p95,
        unexplained_ms=known.unexplained_ms,
        predicted_ms=predicted,
        low_ms=low,
        high_ms=high,
        least_ms=least,
        most_ms=most,
        run_spread=known.spread.spread if known.spread else ASSUMED_SPREAD,
        num_other_runs=known.spread.num_runs if known.spread else 0,
        times_examples=math.prod(
            edit.times_examples for edit in edits if isinstance(edit, ExamplesEdit)
        ),
        advice=tuple(
            edit.advice for edit in edits if isinstance(edit, AdvisedEdit) and edit.advice
        ),
    )


def _lengths_ms(known: Replays, edits: Sequence[Edit]) -> Floats:
    """Return the predicted length of each replayed step."""
    measured = np.array([step.graph.wall_ns for step in known.steps])
    edited = np.array([edited_schedule(step, edits).length_ns for step in known.steps])
    replayed = np.array([step.schedule.length_ns for step in known.steps])
    lengths: Floats = np.maximum(measured + edited - replayed, 0.0) / 1e6
    return lengths


def _extremes(edits: Sequence[Edit]) -> Iterator[list[Edit]]:
    """Yield the edits with one of them at an extreme."""
    for at, edit in enumerate(edits):
        if isinstance(edit, UncertainEdit):
            for extreme in edit.extremes:
                yield [*edits[:at], extreme, *edits[at + 1 :]]


def edited_schedule(step: Replay, edits: Sequence[Edit]) -> Schedule:
    """Return the step with the edits applied, in their order."""
    times = Times(step.work_ns.copy(), step.gap_ns.copy())
    for edit in edits:
        edit.apply(step.graph, times)
    return simulate(step.graph, times.work_ns, times.gap_ns, step.cores)


def interval_of_median(lengths_ms: Floats) -> tuple[float, float]:
    """Return the ends between which 90 % of the medians of resampled steps lie (bootstrap)."""
    draws = np.random.default_rng(_SEED).choice(lengths_ms, (_DRAWS, len(lengths_ms)))
    low, high = np.quantile(np.median(draws, axis=1), [0.05, 0.95])
    return float(low), float(high)


def _interval(lengths_ms: Floats, error: float) -> tuple[float, float]:
    low, high = interval_of_median(lengths_ms)
    widened = error * float(np.median(lengths_ms))
    return max(low - widened, 0.0), high + widened


def _of_another_run(
    recorded_ms: tuple[float, float, float], run_difference: float
) -> tuple[float, float]:
    """Return the ends of a prediction's interval of another run.

    Args:
      recorded_ms: lower end, prediction and upper end of the recorded steps' interval.
      run_difference: logarithm by which two runs differ, exceeded on each side in 5 of 100 cases.
    """
    least, middle, most = recorded_ms
    low, high = 0.0, most
    if least > 0:
        low = middle * math.exp(-math.hypot(math.log(middle / least), run_difference))
    if middle > 0:
        high = middle * math.exp(math.hypot(math.log(most / middle), run_difference))
    return low, high
