"""The rule of `run --repeat auto`: few false alarms, and a true 5 % is found."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.compare_noise import NOISES, by_the_rule, share, simulate
from strategy_core.launcher.repetition import MOST_AUTO
from strategy_profiles.analysis.compare.comparison import TimedRun
from strategy_profiles.analysis.compare.run_time import RunTime

TRIALS = 150


@pytest.mark.parametrize("name", ["runs differ by 2 %", "random walk, 1 % a run"])
def test_noise_is_rarely_called_a_difference_and_five_per_cent_are_found(name: str) -> None:
    rates = simulate(NOISES[name], TRIALS, np.random.default_rng(0))
    assert rates.alarms / TRIALS <= 0.08
    assert rates.num_found / TRIALS >= 0.9
    assert rates.num_runs[0] < 15


def runs(medians_ms: list[float], first: int) -> list[TimedRun]:
    return [
        TimedRun(
            RunTime(
                median_ms=ms,
                p10_ms=ms,
                p90_ms=ms,
                num_steps=60,
                num_warm_up=0,
                num_captured=0,
                num_independent=60.0,
                log_error=0.01,
            ),
            2 * i + first,
        )
        for i, ms in enumerate(medians_ms)
    ]


def test_a_comparison_of_alike_runs_ends_after_six_pairs() -> None:
    alike = [20.0 + 0.01 * (i % 3) for i in range(MOST_AUTO)]
    result = by_the_rule(runs(alike, 0), runs([1.05 * ms for ms in alike], 1))
    assert result is not None
    comparison, got_all = result
    assert (len(comparison.pairs), comparison.verdict, got_all) == (6, "A is faster", True)
    assert by_the_rule(runs(alike[:5], 0), runs(alike[:5], 1)) is None


def test_a_comparison_says_so_if_there_are_fewer_runs_than_needed() -> None:
    far_apart = [20.0 * math.exp(0.3 * (-1) ** i) for i in range(8)]
    result = by_the_rule(runs(far_apart, 0), runs(far_apart[::-1], 1))
    assert result is not None
    _, got_all = result
    assert not got_all


def test_a_rate_has_wilsons_interval() -> None:
    assert share(5, 100) == "  5.0% (2.2% to 11.2%)"
