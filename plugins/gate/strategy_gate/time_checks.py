"""The time checks: has the step, or a part of it, grown beyond noise, and by enough to matter?

The run is the unit, as in `compare`. A time is beyond if the interval of its growth excludes 0 and
the growth is at least `least` of the step; it is within if the interval excludes the growth that
the gate plans for, or if as many runs are there as find that growth with 90 % probability. Else
the check is undecided and says how many runs it takes.

The step has the interval of `compare`. Its parts share a level: with m parts each has the interval
of level 1 - PARTS / m (Bonferroni), so that many parts together raise few false alarms. Growth of a
part is measured in shares of the accepted step, so that an op of 0.1 ms cannot fail a step of 50.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from strategy_gate.baseline import GatedRun
from strategy_profiles.analysis.compare.comparison import (
    NOT_IN_TURNS,
    ONE_RUN,
    TOO_FEW,
    Comparison,
    compare_sides,
)
from strategy_profiles.analysis.compare.machine import different_machines
from strategy_profiles.analysis.compare.mean_difference import paired, welch
from strategy_profiles.analysis.compare.repetitions import (
    DIFFERENCE,
    LEVEL,
    MIN_PAIRS,
    runs_needed,
)

Outcome = Literal["within", "better", "beyond", "undecided"]

LEAST = 0.02
"""Of the step: a growth below it passes, however certain it is."""
BEYOND_LEAST = DIFFERENCE - LEAST
"""The growth that the gate plans for is this much above the one that it lets pass."""
PARTS = 0.04
"""Probability that the two-sided interval of any part excludes the truth."""
LEAST_PART = 0.02
"""Of the step: a part that takes less on both sides is not checked."""
STEP = "step"


class TimeCheck(Struct, frozen=True):
    """One time of the runs against the accepted one, in ms per step."""

    name: str
    accepted_ms: float
    found_ms: float
    growth: float
    """Of the accepted step: (found - accepted) / step; `low` and `high` likewise."""
    low: float | None
    high: float | None
    reach_ms: float | None
    """Half of that interval in ms."""
    level: float
    """Of the interval."""
    outcome: Outcome
    runs_needed: int | None
    """Runs a side that find the planned growth with 90 % probability; None if too few
    runs tell how much they differ."""
    reason: str | None = None
    """Why it is undecided."""


class Times(Struct, frozen=True):
    """All time checks: the step first, then its parts."""

    checks: tuple[TimeCheck, ...]
    num_runs: tuple[int, int]
    """Accepted runs and runs of the gate that count."""
    is_paired: bool

    @property
    def step(self) -> TimeCheck:
        return self.checks[0]


def time_checks(
    accepted: Sequence[GatedRun],
    runs: Sequence[GatedRun],
    *,
    least: float = LEAST,
    is_steady: bool = False,
) -> Times:
    """Check the times of `runs` against those of the accepted ones.

    Args:
      least: growth, in shares of the step, below which a time passes.
      is_steady: whether to trust that the machine is as fast as when the accepted runs were made.
        Otherwise only runs that were recorded alternately with these decide.
    """
    compared = compare_sides([run.timed for run in accepted], [run.timed for run in runs])
    why = _why_undecided(accepted, runs, compared, is_steady)
    step = _step(compared, least, why)
    pairs = compared.pairs
    a = [accepted[i] for i, _ in pairs] or list(accepted)
    b = [runs[j] for _, j in pairs] or list(runs)
    names = _checked_parts(a, b)
    parts = [_part(name, a, b, bool(pairs), len(names), least, why) for name in names]
    return Times((step, *parts), (len(a), len(b)), bool(pairs))


def planned(least: float) -> float:
    """The growth of the step that the gate is to find with 90 % probability."""
    return least + BEYOND_LEAST


def _why_undecided(
    accepted: Sequence[GatedRun],
    runs: Sequence[GatedRun],
    compared: Comparison,
    is_steady: bool,
) -> str | None:
    same = {(run.run, run.started_ns) for run in accepted} & {
        (run.run, run.started_ns) for run in runs
    }
    if same:
        return f"run {min(same)[0]} is itself one of the accepted runs"
    if machines := different_machines([run.machine for run in (*accepted, *runs)]):
        return f"the runs are from different machines: {', '.join(sorted(machines))}"
    if min(compared.num_runs) < MIN_PAIRS:
        return ONE_RUN if compared.num_runs == (1, 1) else TOO_FEW
    return None if compared.pairs or is_steady else NOT_IN_TURNS


def _step(compared: Comparison, least: float, why: str | None) -> TimeCheck:
    low, high = (None if end is None else end - 1 for end in (compared.low, compared.high))
    needed = None
    num = len(compared.pairs) or min(compared.num_runs)
    if compared.pair_spread is not None:
        needed = runs_needed(compared.pair_spread, max(num - 1, 2), difference=planned(least))
    growth = compared.ratio - 1
    outcome, reason = _decide(growth, low, high, num, needed, least, why)
    return TimeCheck(
        STEP,
        compared.a_ms,
        compared.b_ms,
        growth,
        low,
        high,
        _reach_ms(low, high, compared.a_ms),
        LEVEL,
        outcome,
        needed,
        reason,
    )


def _reach_ms(low: float | None, high: float | None, step_ms: float) -> float | None:
    return None if low is None or high is None else (high - low) / 2 * step_ms


def _decide(
    growth: float,
    low: float | None,
    high: float | None,
    num: int,
    needed: int | None,
    least: float,
    why: str | None,
) -> tuple[Outcome, str | None]:
    if why or low is None or high is None:
        return "undecided", why or TOO_FEW
    if low > 0 and growth >= least:
        return "beyond", None
    if high < 0 and -growth >= least:
        return "better", None
    if high <= planned(least) or (needed is not None and num >= needed):
        return "within", None
    return (
        "undecided",
        f"{num} runs a side cannot rule out a growth of {100 * planned(least):.0f} %",
    )


def _checked_parts(a: Sequence[GatedRun], b: Sequence[GatedRun]) -> list[str]:
    """Parts that every run of a side knows, or none of it, and that take enough of the step."""
    names = dict.fromkeys(name for run in (*a, *b) for name in run.parts)
    step_ms = float(np.mean([run.time.median_ms for run in a]))
    checked = []
    for name in names:
        known = [[run.parts[name] for run in side if name in run.parts] for side in (a, b)]
        is_whole = all(len(v) in (0, len(side)) for v, side in zip(known, (a, b), strict=True))
        # Only an op kind may be too short to be kept; anything else that is missing is unknown.
        is_known = all(known) or name.startswith("op ")
        if is_whole and is_known and max(np.mean(v) for v in known if v) >= LEAST_PART * step_ms:
            checked.append(name)
    return checked


def _part(
    name: str,
    a: Sequence[GatedRun],
    b: Sequence[GatedRun],
    is_paired: bool,
    num_parts: int,
    least: float,
    why: str | None,
) -> TimeCheck:
    step_ms = float(np.mean([run.time.median_ms for run in a]))
    sides = [np.array([run.parts.get(name, 0.0) for run in side]) / step_ms for side in (a, b)]
    means = [float(side.mean()) for side in sides]
    level = 1 - PARTS / num_parts
    low, high, needed = None, None, None
    if min(len(a), len(b)) >= MIN_PAIRS:
        difference = (paired if is_paired else welch)(sides[0], sides[1], level)
        low, high = difference.low, difference.high
        needed = runs_needed(
            difference.pair_spread,
            max(difference.freedom, 2),
            difference=planned(least),
            level=level,
        )
    num, growth = min(len(a), len(b)), means[1] - means[0]
    outcome, reason = _decide(growth, low, high, num, needed, least, why)
    return TimeCheck(
        name,
        means[0] * step_ms,
        means[1] * step_ms,
        growth,
        low,
        high,
        _reach_ms(low, high, step_ms),
        level,
        outcome,
        needed,
        reason,
    )
