"""Is B faster than A, and how sure is that? The run is the unit.

Two runs of one spec differ by more than the noise within them explains: memory lies elsewhere,
threads wake up differently, the machine does other work. Only further runs show by how much. So
every run counts once, by the median of its steady steps (`run_time`), and

- one run a side has a difference and no answer;
- several runs a side, taken in turns, are paired with their neighbours in time, and a t interval
  over the pairs' log ratios gives the answer;
- several runs a side that were not taken in turns have an interval and no answer: a slow change
  of the machine looks the same as a difference between A and B.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from strategy_profiles.analysis.compare.mean_difference import (
    MeanDifference,
    paired,
    welch,
)
from strategy_profiles.analysis.compare.repetitions import (
    MIN_PAIRS,
    difference_found,
    runs_needed,
)
from strategy_profiles.analysis.compare.run_time import MIN_STEPS, RunTime
from strategy_profiles.analysis.compare.student_t import student_t
from strategy_profiles.tables.columns import Floats

Verdict = Literal["A is faster", "B is faster", "cannot tell"]

CONFIDENCE = 0.95
"""At least this share of intervals holds the true ratio, the choice of the number of runs by their
spread included; see `repetitions.LEVEL`."""
_IN_TURNS = 0.75
"""Runs count as taken in turns if at least this share of the smaller side has a neighbour."""

ONE_RUN = "one run a side does not show how much two runs of one spec differ"
TOO_FEW = f"an answer needs {MIN_PAIRS} or more runs a side, recorded alternately"
NOT_IN_TURNS = (
    "the runs of A and B did not alternate, so a slow change of the machine would look like a "
    "difference between A and B"
)


class TimedRun(Struct, frozen=True):
    """A run as it enters a comparison."""

    time: RunTime
    started_ns: int
    """Start of the run's first step, on the clock of its machine."""


class Comparison(Struct, frozen=True):
    """B against A. `ratio` is B's step time over A's: below 1, B is faster."""

    a_ms: float
    b_ms: float
    """Step time of each side: the geometric mean over its runs of the median of steady steps."""
    ratio: float
    """b_ms / a_ms."""
    a_rate: float | None
    b_rate: float | None
    """Examples per second at that step time: examples of a step over it; None if not recorded."""
    low: float | None
    high: float | None
    """Interval of the ratio from the differences between runs; None if too few runs tell it."""
    verdict: Verdict
    reason: str | None
    """Why there is no interval or no answer."""
    num_runs: tuple[int, int]
    """Runs of A and B that were given."""
    pairs: tuple[tuple[int, int], ...]
    """Pairs of neighbours that the interval is of, by index; empty if not taken in turns."""
    num_left_out: int
    """Runs that have no neighbour of the other side and do not count."""
    pair_spread: float | None
    """Standard deviation of the log ratio of one run of B to one of A."""
    runs_needed: int | None
    """Runs a side that find a difference of 5 % with 90 % probability, given that spread."""
    difference_found: float | None
    """The smallest relative difference that as many runs as these find with 90 % probability."""
    within_low: float | None
    within_high: float | None
    """One run a side: interval of the ratio if the noise within these two runs were all there is.
    It is not: only use it to say that a difference is smaller than even that noise."""
    num_steps: tuple[int, int]
    """Steady steps of A and B, over all runs that count."""
    num_warm_up: tuple[int, int]
    """Steps left out as warm-up, the tracing step not counted."""
    num_independent: tuple[float, float]
    """How many independent steps the steady ones are worth."""

    @property
    def is_different(self) -> bool:
        return self.verdict != "cannot tell"

    @property
    def unit(self) -> Literal["step", "run"]:
        """What was repeated: steps of one run a side, or runs."""
        return "step" if self.num_runs == (1, 1) else "run"

    @property
    def is_within_noise(self) -> bool:
        """Whether the noise that was seen explains the difference all by itself."""
        low, high = (
            (self.within_low, self.within_high) if self.unit == "step" else (self.low, self.high)
        )
        return low is not None and high is not None and low <= 1 <= high


def compare_sides(a: Sequence[TimedRun], b: Sequence[TimedRun]) -> Comparison:
    """Compare two sides of one run or more each; raises ValueError if one is empty."""
    if not a or not b:
        raise ValueError("each side of a comparison needs at least one run")
    pairs = neighbours([run.started_ns for run in a], [run.started_ns for run in b])
    fewest = min(len(a), len(b))
    in_turns = len(pairs) >= MIN_PAIRS and len(pairs) >= _IN_TURNS * fewest
    num_given = (len(a), len(b))
    if in_turns:
        left_out = len(a) + len(b) - 2 * len(pairs)
        a, b = [a[i] for i, _ in pairs], [b[j] for _, j in pairs]
        difference, reason = paired(_logs(a), _logs(b)), None
    elif fewest >= MIN_PAIRS:
        left_out, difference, reason = 0, welch(_logs(a), _logs(b)), NOT_IN_TURNS
    else:
        left_out, difference, reason = 0, None, ONE_RUN if num_given == (1, 1) else TOO_FEW
    return _comparison(a, b, num_given, difference, reason, pairs if in_turns else (), left_out)


def within_runs(a: RunTime, b: RunTime) -> tuple[float, float] | None:
    """95 % interval of the ratio if noise within the two runs were all; None with too few steps.

    Steps of one run are not independent (a slow moment lasts over several), so they are counted
    by their correlation time.
    """
    if min(a.num_steps, b.num_steps) < MIN_STEPS:
        return None
    squares = [time.log_error**2 for time in (a, b)]
    total = sum(squares)
    freedom = 2.0
    if total > 0:
        parts = zip(squares, (a, b), strict=True)
        freedom = total**2 / sum(s**2 / (time.num_independent - 1) for s, time in parts)
    reach = student_t(max(freedom, 2.0), CONFIDENCE) * math.sqrt(total)
    middle = math.log(b.median_ms / a.median_ms)
    return math.exp(middle - reach), math.exp(middle + reach)


def _comparison(
    a: Sequence[TimedRun],
    b: Sequence[TimedRun],
    num_runs: tuple[int, int],
    difference: MeanDifference | None,
    reason: str | None,
    pairs: Sequence[tuple[int, int]],
    num_left_out: int,
) -> Comparison:
    a_log, b_log = float(_logs(a).mean()), float(_logs(b).mean())
    low = math.exp(difference.low) if difference else None
    high = math.exp(difference.high) if difference else None
    within = within_runs(a[0].time, b[0].time) if num_runs == (1, 1) else None
    fewest = min(len(a), len(b))
    return Comparison(
        a_ms=math.exp(a_log),
        b_ms=math.exp(b_log),
        ratio=math.exp(b_log - a_log),
        a_rate=_rate(a, math.exp(a_log)),
        b_rate=_rate(b, math.exp(b_log)),
        low=low,
        high=high,
        verdict=_verdict(low, high) if pairs else "cannot tell",
        reason=reason,
        num_runs=num_runs,
        pairs=tuple(pairs),
        num_left_out=num_left_out,
        pair_spread=difference.pair_spread if difference else None,
        runs_needed=runs_needed(difference.pair_spread, difference.freedom) if difference else None,
        difference_found=difference_found(difference.pair_spread, fewest) if difference else None,
        within_low=within[0] if within else None,
        within_high=within[1] if within else None,
        num_steps=(_total(a, "num_steps"), _total(b, "num_steps")),
        num_warm_up=(_total(a, "num_warm_up"), _total(b, "num_warm_up")),
        num_independent=(
            sum(run.time.num_independent for run in a),
            sum(run.time.num_independent for run in b),
        ),
    )


def _verdict(low: float | None, high: float | None) -> Verdict:
    if low is not None and low > 1:
        return "A is faster"
    if high is not None and high < 1:
        return "B is faster"
    return "cannot tell"


def _logs(runs: Sequence[TimedRun]) -> Floats:
    return np.log([run.time.median_ms for run in runs])


def _rate(runs: Sequence[TimedRun], step_ms: float) -> float | None:
    """Return examples per second; None unless all runs know the examples of a step.

    The geometric mean of the examples, divided by `step_ms`: a rate averaged by itself could
    contradict the step time beside it.
    """
    examples = [run.time.examples_per_step for run in runs]
    known = [value for value in examples if value]
    if len(known) < len(examples):
        return None
    return math.exp(float(np.log(known).mean())) / step_ms * 1e3


def _total(runs: Sequence[TimedRun], name: str) -> int:
    return sum(getattr(run.time, name) for run in runs)


def neighbours(a_started_ns: Sequence[int], b_started_ns: Sequence[int]) -> list[tuple[int, int]]:
    """Index pairs (run of A, run of B) that follow each other; each run is in one pair at most.

    A machine drifts: two runs of one spec differ by more if they are minutes apart than right after
    each other. Two neighbours meet nearly the same machine, so their difference holds little of
    that. Goes through all runs by their start and takes the next two if they are of different
    sides: AAABBB gives one pair, ABBAAB three.
    """
    runs = sorted(
        [(start, 0, index) for index, start in enumerate(a_started_ns)]
        + [(start, 1, index) for index, start in enumerate(b_started_ns)]
    )
    pairs: list[tuple[int, int]] = []
    position = 0
    while position + 1 < len(runs):
        (_, side, index), (_, next_side, next_index) = runs[position], runs[position + 1]
        if side == next_side:
            position += 1
            continue
        pairs.append((index, next_index) if side == 0 else (next_index, index))
        position += 2
    return pairs
