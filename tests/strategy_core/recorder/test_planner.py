"""The budget's arithmetic: only the first window may cost more than its share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_core.recorder.planner import EARLY_NUM_STEPS, EARLY_STEP, WindowPlanner


def _run(
    planner: WindowPlanner, steps: int, step_ms: float, stop_ms: float, convert_ms: float
) -> list[int]:
    """Drives a planner as the recorder does; returns the first step of every window."""
    begun, left, size = [], 0, 0
    for step in range(steps):
        if not left and (size := planner.steps_to_capture()):
            planner.window_begun()
            begun.append(step)
            left = size
        planner.step_done(step_ms, left > 0)
        if left:
            left -= 1
            if not left:
                cost = planner.window_stopped(stop_ms)
                planner.window_converted(cost, convert_ms, size)
    return begun


def test_the_first_window_is_early_and_small() -> None:
    planner = WindowPlanner(0.01, 10, every_step=False)
    assert _run(planner, 50, 10, 50, 50) == [EARLY_STEP]
    assert planner.spent_ms == 100


@given(
    budget=st.sampled_from([0.005, 0.01, 0.1]),
    step_ms=st.floats(2, 200),
    stop_ms=st.floats(1, 100),
    convert_ms=st.floats(1, 100),
)
def test_a_long_run_stays_within_its_budget(
    budget: float, step_ms: float, stop_ms: float, convert_ms: float
) -> None:
    planner = WindowPlanner(budget, 10, every_step=False)
    begun = _run(planner, 5000, step_ms, stop_ms, convert_ms)
    first_cost = stop_ms + convert_ms
    assert planner.spent_ms <= max(budget * planner.elapsed_ms + first_cost, first_cost)
    if budget * planner.elapsed_ms > 6 * first_cost:
        assert len(begun) > 1


def test_slower_steps_count() -> None:
    planner = WindowPlanner(0.01, 4, every_step=False)
    for _ in range(10):
        planner.step_done(10, captured=False)
    planner.window_begun()
    for _ in range(4):
        planner.step_done(12, captured=True)
    assert planner.window_stopped(30) == pytest.approx(30 + 4 * 2)


def test_every_step_means_back_to_back() -> None:
    planner = WindowPlanner(0.01, 10, every_step=True)
    assert _run(planner, 42, 100, 500, 500) == [2, 12, 22, 32]


def test_short_steps_are_captured_more_at_a_time() -> None:
    planner = WindowPlanner(0.01, 10, every_step=True)
    assert _run(planner, 210, 10, 500, 500) == [2, 102, 202]


def test_a_conversion_costs_one_cpu_of_all() -> None:
    planner = WindowPlanner(0.01, 4, every_step=False, num_cpus=4)
    planner.window_converted(0.0, 100.0, 4)
    assert planner.spent_ms == 25


def test_a_new_segment_gets_an_early_window_of_its_own() -> None:
    planner = WindowPlanner(0.01, 10, every_step=False)
    _run(planner, 20, 10, 50, 50)
    planner.open_segment()
    assert _run(planner, 20, 10, 50, 50) == [EARLY_STEP]


def test_steps_of_seconds_are_captured_fewer_at_a_time() -> None:
    planner = WindowPlanner(0.01, 10, every_step=False)
    planner.step_done(60_000, captured=False)
    planner.step_done(5_000, captured=False)
    assert 1 <= planner.steps_to_capture() < EARLY_NUM_STEPS
