"""Which run comes next, and when a sweep is over: successive halving, then a test of the leaders.

- Rounds 1 and 2: one run of every configuration that is left, in random order. After each, the
  slower half stops, except for configurations that are within `MARGINS` of the fastest.
- From round 3, after some rounds (`LOOKS`), the leader is compared with each of the others over
  the runs of the same rounds. A configuration whose interval says that it is slower stops.
- The sweep ends when none but the leader is left, or its budget is used.

The reference is not halved away: "1.3 times the default" needs an interval. A configuration stops
when a run of it fails. All of this follows from the sweep's file alone.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from strategy_profiles.analysis.compare.comparison import CONFIDENCE
from strategy_profiles.analysis.compare.mean_difference import paired
from strategy_profiles.analysis.compare.repetitions import MIN_PAIRS
from strategy_profiles.reporting import units
from strategy_sweep.record import MeasuredRun, Sweep

MARGINS = {1: 1.6, 2: 1.4}
"""The rounds after which the slower half stops, and how many times as fast the fastest has to be
than what stops: runs of one spec differ by up to a fifth on a busy machine."""
LOOKS = (3, 5, 8, 12, 20, 30)
"""Rounds after which the leaders are compared."""
MOST_ROUNDS = 30

Log = dict[int, dict[int, float]]
"""The logarithm of the throughput by configuration and round."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """Throughput of one configuration over that of another."""

    middle: float
    low: float
    high: float
    num_pairs: int

    @property
    def is_slower(self) -> bool:
        return self.high < 1


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run to make."""

    configuration: int
    round: int


@dataclass(frozen=True)
class SweepProgress:
    """Progress of a sweep: what was left out, the next run, or why it ended."""

    left: tuple[int, ...]
    """Configurations that may still win, or won."""
    stopped: dict[int, str] = field(default_factory=dict)
    """Why the others stopped."""
    next_run: NextRun | None = None
    """The run that comes next; None when the sweep is over."""
    ended: str = ""
    """Why it is over: the end of a sentence."""
    rest_of_round: tuple[int, ...] = ()
    """Configurations without a run in this round."""
    level: float | None = None
    """Of the intervals that compare the leaders; None before they are compared."""


def sweep_progress(sweep: Sweep) -> SweepProgress:
    """Derive what comes next from the runs that were made."""
    runs = {(run.configuration, run.round): run for run in sweep.runs}
    stopped = {item.configuration: item.reason for item in sweep.pruned}
    left = [index for index in range(len(sweep.configurations)) if index not in stopped]
    looks = _looks(sweep.budget.rounds)
    level: float | None = None
    for number in range(1, sweep.budget.rounds + 1):
        missing = [index for index in _order(sweep, left, number) if (index, number) not in runs]
        if missing and not _is_spent(sweep):
            next_run = NextRun(missing[0], number)
            return SweepProgress(
                tuple(left), stopped, next_run, rest_of_round=tuple(missing), level=level
            )
        if missing:
            return SweepProgress(tuple(left), stopped, ended="the time was used", level=level)
        failed = {index: runs[index, number].failure for index in left}
        stopped |= {index: f"failed: {why}" for index, why in failed.items() if why is not None}
        left = [index for index in left if failed[index] is None]
        # Runs of later rounds must not change a decision that was made without them.
        logs = throughputs([run for run in sweep.runs if run.round <= number])
        if number in MARGINS:
            stopped |= _halve(left, logs, number, keep=sweep.reference)
        elif number in looks:
            level = _level(len(left), len(looks)) if level is None else level
            stopped |= _test(left, logs, level)
        left = [index for index in left if index not in stopped]
        if len(left) < 2:
            break
    return SweepProgress(tuple(left), stopped, ended=_ending(sweep, left), level=level)


def throughputs(runs: Sequence[MeasuredRun]) -> Log:
    """The logarithm of every measured throughput."""
    logs: Log = {}
    for run in runs:
        if run.is_measured and run.examples_per_second_at_median:
            logs.setdefault(run.configuration, {})[run.round] = math.log(
                run.examples_per_second_at_median
            )
    return logs


def leader(among: Collection[int], logs: Log) -> int | None:
    """The configuration with the highest throughput in the mean; None if none was measured."""
    known = [index for index in among if logs.get(index)]
    return max(known, key=lambda index: float(np.mean([*logs[index].values()])), default=None)


def ratio(one: int, other: int, logs: Log, level: float) -> Ratio | None:
    """Throughput of `one` over that of `other`, over rounds that both have; None with too few."""
    a, b = logs.get(other, {}), logs.get(one, {})
    both = sorted(a.keys() & b.keys())
    if len(both) < MIN_PAIRS:
        return None
    difference = paired(np.array([a[n] for n in both]), np.array([b[n] for n in both]), level)
    return Ratio(
        math.exp(difference.middle), math.exp(difference.low), math.exp(difference.high), len(both)
    )


def runs_left(sweep: Sweep, now: SweepProgress) -> tuple[float, float]:
    """About how many runs are to come: if the leaders separate at the first look, and if never."""
    if now.next_run is None:
        return 0.0, 0.0
    least = most = float(len(now.rest_of_round))
    num = len(now.left)
    for number in range(now.next_run.round, sweep.budget.rounds):
        if number in MARGINS:
            num = min(num, max(2, math.ceil(num / 2)))
        most += num
        if number < MIN_PAIRS:
            least += num
    return least, most


def seconds_left(sweep: Sweep, now: SweepProgress) -> tuple[float, float] | None:
    """About how long that takes, from the runs so far; None before the first one."""
    if not sweep.runs:
        return None
    each = sweep.seconds / len(sweep.runs)
    least, most = (num * each for num in runs_left(sweep, now))
    if sweep.budget.seconds is not None:
        rest = max(sweep.budget.seconds - sweep.seconds, 0.0)
        least, most = min(least, rest), min(most, rest)
    return least, most


def _order(sweep: Sweep, left: Sequence[int], number: int) -> list[int]:
    order = list(left)
    random.Random(f"{sweep.seed}:{number}").shuffle(order)
    if number == 1 and sweep.prunes:  # the runs from which more replicas may be predicted
        order.sort(key=lambda index: sweep.configurations[index].num_replicas or 0)
    return order


def _is_spent(sweep: Sweep) -> bool:
    return sweep.budget.seconds is not None and sweep.seconds >= sweep.budget.seconds


def _halve(left: Sequence[int], logs: Log, number: int, *, keep: int) -> dict[int, str]:
    means = {index: float(np.mean([*logs[index].values()])) for index in left}
    ranked = sorted(left, key=lambda index: -means[index])
    slower = ranked[max(2, math.ceil(len(ranked) / 2)) :]
    best = means[ranked[0]] if ranked else 0.0
    return {
        index: f"slower: {math.exp(means[index] - best):.2f} times the fastest after "
        f"{units.counted(number, 'run')}"
        for index in slower
        if index != keep and means[index] < best - math.log(MARGINS[number])
    }


def _test(left: Sequence[int], logs: Log, level: float) -> dict[int, str]:
    best = leader(left, logs)
    reasons: dict[int, str] = {}
    for index in left:
        if best is None or index == best:
            continue
        against = ratio(index, best, logs, level)
        if against is not None and against.is_slower:
            reasons[index] = (
                f"slower: {against.middle:.2f} times the leader "
                f"({against.low:.2f} to {against.high:.2f}) over {against.num_pairs} runs"
            )
    return reasons


def _looks(rounds: int) -> list[int]:
    return sorted({number for number in (*LOOKS, rounds) if MIN_PAIRS <= number <= rounds})


def _level(num: int, num_looks: int) -> float:
    """Bonferroni over all pairs of configurations, as the leader is chosen by its runs, and over
    the looks."""
    return 1 - (1 - CONFIDENCE) / max(1, num * (num - 1) // 2 * num_looks)


def _ending(sweep: Sweep, left: Sequence[int]) -> str:
    if not left:
        return "every configuration failed"
    if len(left) == 1:
        return "one configuration was left"
    return f"the budget of {units.counted(sweep.budget.rounds, 'round')} was used"
