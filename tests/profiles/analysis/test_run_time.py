"""A run counts by the median of its steady steps; the noise within it is described, no more."""

from __future__ import annotations

import numpy as np
import pytest

from strategy_profiles.analysis.compare.comparison import within_runs
from strategy_profiles.analysis.compare.run_time import (
    MIN_STEPS,
    correlation_time,
    run_time,
    time_of,
    warm_up_length,
)
from strategy_profiles.analysis.steps import StepTimes, settled_steps, timed_steps
from strategy_profiles.tables.columns import Floats

NUM_TRIALS = 150


def noisy_ms(
    rng: np.random.Generator, num_steps: int, correlation: float, has_hiccups: bool
) -> Floats:
    """Step times around 20 ms, 5 % noise that lasts over steps; one in twenty steps is a hiccup."""
    noise = np.zeros(num_steps)
    noise[0] = rng.normal()
    shocks = rng.normal(0, np.sqrt(1 - correlation**2), num_steps)
    for i in range(1, num_steps):
        noise[i] = correlation * noise[i - 1] + shocks[i]
    hiccups = np.where(rng.random(num_steps) < 0.05, 1 + rng.exponential(1, num_steps), 1)
    times: Floats = 20 * np.exp(0.05 * noise) * (hiccups if has_hiccups else 1)
    return times


def steps_of(wall_ms: list[float], captured: list[int]) -> StepTimes:
    """Steps of one segment, some of them captured; the first one traces."""
    number = len(wall_ms)
    is_captured = np.isin(np.arange(number), captured)
    settled = settled_steps(np.zeros(number, bool), 1)
    unknown = np.full(number, np.nan)
    return StepTimes(
        segment=0,
        step=np.arange(number),
        start_ns=np.arange(number),
        wall_ms=np.array(wall_ms),
        input_ms=unknown,
        loss=unknown,
        examples=unknown,
        captured=is_captured,
        num_warm_up=1,
        settled=settled,
        typical=settled,
        timed=timed_steps(settled, is_captured, np.arange(number)),
    )


def test_first_and_captured_steps_do_not_count() -> None:
    time = run_time(steps_of([900.0, *[20.0] * 20, *[50.0] * 19], list(range(21, 40))))
    assert time is not None
    assert (time.median_ms, time.num_steps, time.num_captured) == (20.0, 20, 19)
    assert not time.uses_captured


def test_captured_steps_count_if_nearly_no_others_are_there() -> None:
    time = run_time(steps_of([900.0, *[50.0] * 19, *[20.0] * 2], list(range(1, 20))))
    assert time is not None
    assert (time.median_ms, time.num_steps, time.uses_captured) == (50.0, 21, True)


def test_a_segment_whose_steps_have_no_length_has_no_step_time() -> None:
    assert run_time(steps_of([], [])) is None
    assert run_time(steps_of([900.0, 0.0, 20.0], [])) is None


@pytest.mark.parametrize("has_hiccups", [False, True])
@pytest.mark.parametrize(("num_steps", "correlation"), [(49, 0.0), (200, 0.3), (500, 0.6)])
def test_noise_within_runs_explains_the_difference_of_equal_ones(
    num_steps: int, correlation: float, has_hiccups: bool
) -> None:
    rng = np.random.default_rng(1)
    runs = [noisy_ms(rng, num_steps, correlation, has_hiccups) for _ in range(2 * NUM_TRIALS)]
    outside = 0
    for a, b in zip(runs[::2], runs[1::2], strict=True):
        comparison = within_runs(time_of(a), time_of(b))
        assert comparison is not None
        outside += not comparison[0] <= 1 <= comparison[1]
    assert outside / NUM_TRIALS <= 0.10


@pytest.mark.parametrize("has_hiccups", [False, True])
@pytest.mark.parametrize(("num_steps", "correlation"), [(99, 0.0), (200, 0.3), (500, 0.6)])
def test_noise_within_runs_does_not_explain_five_per_cent(
    num_steps: int, correlation: float, has_hiccups: bool
) -> None:
    rng = np.random.default_rng(2)
    outside = 0
    for _ in range(NUM_TRIALS):
        a, b = (noisy_ms(rng, num_steps, correlation, has_hiccups) for _ in "ab")
        comparison = within_runs(time_of(a), time_of(1.05 * b))
        assert comparison is not None
        outside += comparison[0] > 1
    assert outside / NUM_TRIALS >= 0.9


def test_too_few_steps_do_not_tell_the_noise_within_a_run() -> None:
    few, many = time_of(np.full(MIN_STEPS - 1, 20.0)), time_of(np.full(50, 20.0))
    assert within_runs(few, many) is None
    assert within_runs(many, many) == (1.0, 1.0)


def test_warm_up_is_left_out() -> None:
    rng = np.random.default_rng(3)
    warm = np.concatenate([np.linspace(80, 21, 30), noisy_ms(rng, 170, 0.0, False)])
    assert 15 <= warm_up_length(warm) <= 60
    assert time_of(warm).median_ms == pytest.approx(20, rel=0.02)


def test_correlation_makes_steps_worth_less() -> None:
    rng = np.random.default_rng(4)
    alone = correlation_time(noisy_ms(rng, 2000, 0.0, False))
    together = correlation_time(noisy_ms(rng, 2000, 0.8, False))
    assert 1 <= alone < 1.6
    assert together == pytest.approx((1 + 0.8) / (1 - 0.8), rel=0.4)


@pytest.mark.parametrize("times", [[], [0.0, 1.0], [-1.0]])
def test_missing_times_and_times_that_are_not_positive_are_refused(times: list[float]) -> None:
    with pytest.raises(ValueError, match="more than 0 ms"):
        time_of(np.array(times, float))
