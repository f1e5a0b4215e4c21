"""Two runs of the same speed are rarely called different; 5 per cent are rarely missed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_lab.profiles.analysis.comparison import (
    compare_times,
    correlation_time,
    student_t,
    warm_up_length,
)
from strategy_lab.profiles.columns import Floats

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


@pytest.mark.parametrize("has_hiccups", [False, True])
@pytest.mark.parametrize(("num_steps", "correlation"), [(49, 0.0), (200, 0.3), (500, 0.6)])
def test_noise_is_called_a_difference_in_about_one_of_twenty(
    num_steps: int, correlation: float, has_hiccups: bool
) -> None:
    rng = np.random.default_rng(1)
    runs = [noisy_ms(rng, num_steps, correlation, has_hiccups) for _ in range(2 * NUM_TRIALS)]
    wrong = sum(
        compare_times(a, b).is_different for a, b in zip(runs[::2], runs[1::2], strict=True)
    )
    assert wrong / NUM_TRIALS <= 0.10


@pytest.mark.parametrize("has_hiccups", [False, True])
@pytest.mark.parametrize(("num_steps", "correlation"), [(99, 0.0), (200, 0.3), (500, 0.6)])
def test_five_per_cent_are_found(num_steps: int, correlation: float, has_hiccups: bool) -> None:
    rng = np.random.default_rng(2)
    found = [
        compare_times(
            noisy_ms(rng, num_steps, correlation, has_hiccups),
            1.05 * noisy_ms(rng, num_steps, correlation, has_hiccups),
        )
        for _ in range(NUM_TRIALS)
    ]
    assert sum(item.verdict == "A is faster" for item in found) / NUM_TRIALS >= 0.9
    covered = sum(item.low <= 1.05 <= item.high for item in found if item.low and item.high)
    assert covered / NUM_TRIALS >= 0.9


def test_the_same_times_are_no_difference() -> None:
    times = noisy_ms(np.random.default_rng(0), 100, 0.0, False)
    found = compare_times(times, times)
    assert (found.ratio, found.verdict) == (1.0, "cannot tell")


def test_constant_times_compare_exactly() -> None:
    found = compare_times(np.full(50, 20.0), np.full(50, 21.0))
    assert found.verdict == "A is faster"
    assert found.ratio == pytest.approx(1.05)


def test_few_steps_give_a_ratio_and_no_interval() -> None:
    found = compare_times(np.full(5, 20.0), np.full(5, 40.0))
    assert found.ratio == pytest.approx(2.0)
    assert (found.low, found.high, found.verdict) == (None, None, "cannot tell")
    assert found.reason == "an interval needs 16 timed steps in each run"


def test_warm_up_is_left_out() -> None:
    rng = np.random.default_rng(3)
    warm = np.concatenate([np.linspace(80, 21, 30), noisy_ms(rng, 170, 0.0, False)])
    assert 15 <= warm_up_length(warm) <= 60
    found = compare_times(warm, noisy_ms(rng, 200, 0.0, False))
    assert found.ratio == pytest.approx(1.0, abs=0.02)


def test_correlation_makes_steps_worth_less() -> None:
    rng = np.random.default_rng(4)
    alone = correlation_time(noisy_ms(rng, 2000, 0.0, False))
    together = correlation_time(noisy_ms(rng, 2000, 0.8, False))
    assert 1 <= alone < 1.6
    assert together == pytest.approx((1 + 0.8) / (1 - 0.8), rel=0.4)


@pytest.mark.parametrize(("freedom", "value"), [(5, 2.571), (10, 2.228), (30, 2.042), (1e6, 1.960)])
def test_student_t_is_that_of_the_tables(freedom: float, value: float) -> None:
    assert student_t(freedom) == pytest.approx(value, rel=0.002)


@pytest.mark.parametrize("times", [[], [0.0, 1.0], [-1.0]])
def test_times_that_are_none_are_refused(times: list[float]) -> None:
    with pytest.raises(ValueError, match="positive"):
        compare_times(np.array(times, float), np.full(20, 1.0))


@given(
    st.lists(st.floats(0.1, 1000), min_size=1, max_size=60),
    st.lists(st.floats(0.1, 1000), min_size=1, max_size=60),
)
def test_swapping_the_runs_inverts_the_answer(a: list[float], b: list[float]) -> None:
    one = compare_times(np.array(a), np.array(b))
    other = compare_times(np.array(b), np.array(a))
    assert one.ratio * other.ratio == pytest.approx(1.0)
    swapped = {"A is faster": "B is faster", "B is faster": "A is faster"}
    assert other.verdict == swapped.get(one.verdict, one.verdict)
    if one.low is not None and other.high is not None:
        assert one.low * other.high == pytest.approx(1.0)
