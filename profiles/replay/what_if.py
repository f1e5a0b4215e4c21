"""How long would a step be with an edit? The prediction with its error and its interval.

    predicted = median over steps of (T_measured + T_edited - T_replay)

What the replay does not explain of a step stays as it was measured. The interval holds 90 % of the
medians of resampled steps (bootstrap), and is widened at both ends by the 95th percentile of the
replay error, and by 10 % more if workers without recorded ops take part: two runs of such workers
differ more than the steps within one. If an edit depends on a quantity that the recording leaves
open, the interval holds those of its extremes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from strategy_lab.profiles.replay.edits import Edit, Times, UncertainEdit
from strategy_lab.profiles.replay.replays import Replay, Replays, replays
from strategy_lab.profiles.replay.simulate import Schedule, simulate
from strategy_lab.profiles.tables.columns import Floats

if TYPE_CHECKING:
    from strategy_lab.profiles.tables.store import Profile

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
    """Lower end of the interval of the prediction."""
    high_ms: float

    @property
    def speedup(self) -> float:
        """`T_measured / T_predicted`."""
        return self.measured_ms / self.predicted_ms if self.predicted_ms > 0 else float("inf")

    @property
    def is_within_error(self) -> bool:
        """Whether the interval holds the measured step: the edit may change nothing."""
        return self.low_ms <= self.measured_ms <= self.high_ms


def what_if(profile: Profile, segment: int, edits: Sequence[Edit]) -> WhatIf:
    """Predict a segment's step with these edits.

    Raises ReplayError if the recording does not allow it, or has nothing that an edit changes.
    """
    return predict(replays(profile, segment), edits)


def predict(known: Replays, edits: Sequence[Edit]) -> WhatIf:
    """Return the prediction from replayed steps.

    Its interval covers the replays' error around the median, also with each uncertain edit at its
    extremes.
    """
    lengths = _lengths_ms(known, edits)
    others = [_lengths_ms(known, extreme) for extreme in _extremes(edits)]
    error = known.error_p95
    if any(step.graph.timed for step in known.steps):
        error += _BETWEEN_RUNS_OF_WORKERS
    ends = [_interval(each, error) for each in (lengths, *others)]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    return WhatIf(
        segment=known.recording.segment.segment,
        edits=tuple(edit.title for edit in edits),
        num_steps=len(known.steps),
        measured_ms=known.measured_ms,
        replayed_ms=known.replayed_ms,
        replay_error=known.error,
        replay_error_p95=known.error_p95,
        unexplained_ms=known.unexplained_ms,
        predicted_ms=float(np.median(lengths)),
        low_ms=low,
        high_ms=high,
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
