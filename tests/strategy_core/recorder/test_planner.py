"""The budget's arithmetic: only the first window may cost more than its share."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_core.recorder.planner import (
    EARLY_NUM_STEPS,
    EARLY_STEP,
    FEWEST_EARLY_STEPS,
    FEWEST_LATER_STEPS,
    SETTLED_MS,
    SETTLED_STEPS,
    WindowPlanner,
)


def _run(
    planner: WindowPlanner,
    steps: int,
    step_ms: float,
    stop_ms: float,
    convert_ms: float,
    written_ms: float = 0.0,
    slower: float = 1.0,
) -> list[int]:
    """Drives a planner as the recorder does; returns the first step of every window."""
    begun, left, size = [], 0, 0
    for step in range(steps):
        if not left and (size := planner.steps_to_capture()):
            planner.window_begun()
            begun.append(step)
            left = size
        planner.step_done(step_ms * (slower if left else 1.0), left > 0)
        planner.step_written(written_ms)
        if left:
            left -= 1
            if not left:
                cost = planner.window_stopped(stop_ms)
                planner.window_converted(cost, convert_ms, size)
    return begun


def test_the_first_window_is_early_and_small() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    assert _run(planner, steps=50, step_ms=10, stop_ms=50, convert_ms=50) == [EARLY_STEP]
    assert planner.spent_ms == 100


@pytest.mark.parametrize(
    ("num_steps", "first"),
    [(math.inf, SETTLED_STEPS), (200, SETTLED_STEPS), (20, 10), (8, 4), (5, 2), (3, 2), (0, 2)],
)
def test_the_first_window_comes_once_steps_take_their_usual_time(
    num_steps: float, first: int
) -> None:
    """Halfway in a short segment; at once in a program whose number of steps is not known."""
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.open_segment(num_steps=num_steps)
    assert _run(planner, steps=50, step_ms=10, stop_ms=50, convert_ms=50) == [first]


def test_long_steps_are_captured_after_a_second() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.open_segment(num_steps=math.inf)
    assert _run(planner, steps=50, step_ms=SETTLED_MS / 4, stop_ms=50, convert_ms=50) == [5], (
        "the first step is not counted"
    )
    planner.open_segment(num_steps=math.inf)
    assert (
        _run(planner, steps=50, step_ms=2 * SETTLED_MS, stop_ms=50, convert_ms=50)[0] == EARLY_STEP
    )


def test_the_recorder_does_not_rest_before_the_first_window() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.open_segment(num_steps=200)
    for _ in range(SETTLED_STEPS):
        assert planner.rest_ms == 0
        planner.step_done(10, captured=False)
    assert planner.steps_to_capture()


def test_one_slow_step_does_not_shorten_the_first_window() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.open_segment(num_steps=200)
    for step in range(SETTLED_STEPS):
        planner.step_done(500 if step == 3 else 10, captured=False)
    assert planner.steps_to_capture() == EARLY_NUM_STEPS


def test_with_every_step_the_third_one_is_captured() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=True)
    planner.open_segment(num_steps=200)
    assert _run(planner, steps=42, step_ms=100, stop_ms=500, convert_ms=500)[0] == EARLY_STEP


def test_a_segment_of_functions_that_ran_before_may_be_captured_from_its_first_step() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=True)
    planner.open_segment(is_warm=True)
    assert planner.steps_to_capture() > 0
    planner.open_segment()
    assert planner.steps_to_capture() == 0


@pytest.mark.slow
@given(
    budget=st.sampled_from([0.005, 0.01, 0.1]),
    step_ms=st.floats(2, 200),
    stop_ms=st.floats(1, 100),
    convert_ms=st.floats(1, 100),
)
def test_a_long_run_stays_within_its_budget(
    budget: float, step_ms: float, stop_ms: float, convert_ms: float
) -> None:
    planner = WindowPlanner(overhead_budget=budget, window_steps=10, every_step=False, due_ms=())
    begun = _run(planner, steps=5000, step_ms=step_ms, stop_ms=stop_ms, convert_ms=convert_ms)
    first_cost = stop_ms + convert_ms
    assert planner.spent_ms <= max(budget * planner.elapsed_ms + first_cost, first_cost)
    if budget * planner.elapsed_ms > 6 * first_cost:
        assert len(begun) > 1


def test_slower_steps_of_a_window_use_up_the_budget() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=4, every_step=False, due_ms=())
    for _ in range(10):
        planner.step_done(10, captured=False)
    planner.window_begun()
    for _ in range(4):
        planner.step_done(12, captured=True)
    assert planner.window_stopped(30) == pytest.approx(30 + 4 * (12 - 10))


def test_with_every_step_a_window_follows_another_at_once() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=True)
    assert _run(planner, steps=42, step_ms=100, stop_ms=500, convert_ms=500) == [2, 12, 22, 32]


def test_short_steps_are_captured_more_at_a_time() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=True)
    assert _run(planner, steps=210, step_ms=10, stop_ms=500, convert_ms=500) == [2, 102, 202]


def test_conversion_time_uses_up_the_budget_in_full() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=4, every_step=False, due_ms=())
    planner.window_converted(0.0, 100.0, 4)
    assert planner.spent_ms == 100


def test_a_slower_step_after_a_window_uses_up_the_budget() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=4, every_step=False, due_ms=())
    for _ in range(10):
        planner.step_done(10, captured=False)
    planner.window_begun()
    planner.step_done(10, captured=True)
    planner.window_stopped(0)
    planner.step_done(13, captured=False)
    planner.step_done(13, captured=False)
    assert planner.spent_ms == pytest.approx(3)


def test_a_step_delayed_by_something_else_does_not_use_up_the_budget() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=4, every_step=False, due_ms=())
    for _ in range(10):
        planner.step_done(10, captured=False)
    planner.window_begun()
    for wall_ms in (10, 10_000, 10, 10):
        planner.step_done(wall_ms, captured=True)
    assert planner.window_stopped(0) <= 3 * 10


@pytest.mark.parametrize("written_ms", [0.0, 0.02, 0.04])
def test_the_total_cost_of_recording_stays_within_the_budget(written_ms: float) -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.owe(60)  # a graph, a converter
    begun = _run(planner, steps=20_000, step_ms=10, stop_ms=5, convert_ms=15, written_ms=written_ms)
    assert len(begun) > 2
    spent_ms = planner.spent_ms + planner.recording_ms
    assert planner.spent_ms == pytest.approx(60 + 20 * len(begun))
    assert planner.recording_ms >= 20_000 * written_ms
    assert spent_ms <= 0.01 * planner.elapsed_ms
    assert spent_ms >= 0.009 * planner.elapsed_ms, "what the budget allows is used"


def test_a_longer_window_is_expected_to_cost_more_but_no_longer_conversion() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    begun = _run(planner, steps=4000, step_ms=10, stop_ms=25, convert_ms=25)
    second, fourth = (0.01 * 10 * begun[number] for number in (1, 3))
    assert second == pytest.approx(2 * 50, rel=0.02), "as short as the first one"
    assert fourth == pytest.approx(3 * 50 + 25 / EARLY_NUM_STEPS * 10 + 25, rel=0.02)


def test_windows_still_begin_if_writing_steps_takes_the_whole_budget() -> None:
    all_of_it, nothing = (
        len(
            _run(
                WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=()),
                steps=20_000,
                step_ms=10,
                stop_ms=5,
                convert_ms=15,
                written_ms=written_ms,
            )
        )
        for written_ms in (10.0, 0.0)
    )
    assert 2 <= all_of_it <= nothing / 9


@pytest.mark.slow
@given(
    budget=st.sampled_from([0.005, 0.05]),
    step_ms=st.floats(2, 200),
    cost_ms=st.floats(1, 300),
    written_ms=st.floats(0, 0.1),
)
def test_no_window_can_begin_during_a_rest(
    budget: float, step_ms: float, cost_ms: float, written_ms: float
) -> None:
    planner = WindowPlanner(overhead_budget=budget, window_steps=10, every_step=False, due_ms=())
    _run(
        planner,
        steps=2000,
        step_ms=step_ms,
        stop_ms=cost_ms,
        convert_ms=cost_ms,
        written_ms=written_ms,
    )
    if planner.steps_to_capture():
        return
    rest_ms = planner.rest_ms
    while rest_ms > 1e-6:  # what is left by rounding is no rest
        assert not planner.steps_to_capture()
        planner.passed([step_ms])
        planner.step_written(written_ms)
        rest_ms -= step_ms


def _num_early(step_ms: float) -> int:
    """Steps of the first window: fewer where they are long."""
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    for _ in range(EARLY_STEP):
        planner.step_done(step_ms, captured=False)
    return planner.steps_to_capture()


@pytest.mark.slow
@given(
    budget=st.sampled_from([0.01, 0.05]),
    step_ms=st.floats(2, 100),
    slower=st.floats(1, 1.5),
    stop_ms=st.floats(1, 100),
    convert_ms=st.floats(1, 100),
)
def test_the_reported_cost_is_within_the_budget(
    budget: float, step_ms: float, slower: float, stop_ms: float, convert_ms: float
) -> None:
    """By the formula of `strategy_profiles.analysis.capture_cost`, once the first window is paid
    for."""
    planner = WindowPlanner(overhead_budget=budget, window_steps=10, every_step=False, due_ms=())
    num_early = _num_early(step_ms)
    begun = _run(
        planner, steps=5000, step_ms=step_ms, stop_ms=stop_ms, convert_ms=convert_ms, slower=slower
    )
    num_short = min(len(begun) - 1, FEWEST_LATER_STEPS // EARLY_NUM_STEPS)
    num_captured = num_early + EARLY_NUM_STEPS * num_short + 10 * (len(begun) - 1 - num_short)
    between = len(begun) * (stop_ms + convert_ms)
    longer = num_captured * step_ms * (slower - 1)
    total = planner.elapsed_ms + between
    first = stop_ms + convert_ms + num_early * step_ms * (slower - 1)
    assert (between + longer) / total <= max(budget * 1.01, first / total)


def test_a_new_segment_gets_an_early_window_of_its_own() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    _run(planner, steps=20, step_ms=10, stop_ms=50, convert_ms=50)
    planner.open_segment()
    assert _run(planner, steps=20, step_ms=10, stop_ms=50, convert_ms=50) == [EARLY_STEP]


def test_the_first_window_is_shorter_still_if_a_step_takes_seconds() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.step_done(60_000, captured=False)
    planner.step_done(5_000, captured=False)
    assert 1 <= planner.steps_to_capture() < FEWEST_EARLY_STEPS


def test_the_first_window_has_the_fewest_steps_if_steps_are_long() -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.step_done(5_000, captured=False)
    planner.step_done(400, captured=False)
    assert planner.steps_to_capture() == FEWEST_EARLY_STEPS


@pytest.mark.parametrize(("step_ms", "waits"), [(10.0, True), (1000.0, False)])
def test_background_work_waits_for_the_first_window_if_steps_are_short(
    step_ms: float, waits: bool
) -> None:
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False, due_ms=())
    planner.step_done(5000, captured=False)
    assert planner.is_first_view_near
    planner.step_done(step_ms, captured=False)
    assert planner.is_first_view_near == waits
    planner.window_begun()
    planner.step_done(step_ms, captured=True)
    assert planner.is_first_view_near == waits
    planner.window_stopped(1)
    assert not planner.is_first_view_near
    planner.window_begun()
    assert not planner.is_first_view_near
    planner.open_segment()
    assert planner.is_first_view_near


def test_a_run_of_half_a_minute_has_windows_all_along() -> None:
    """Its first window costs more than its whole budget."""
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False)
    begun = _run(planner, steps=320, step_ms=100, stop_ms=200, convert_ms=200)
    assert [round(step * 0.1) for step in begun[1:]] == [3, 10, 30]


def test_a_smaller_budget_has_fewer_windows_in_the_same_time() -> None:
    planner = WindowPlanner(overhead_budget=0.002, window_steps=10, every_step=False)
    assert len(_run(planner, steps=320, step_ms=100, stop_ms=200, convert_ms=200)) == 2


def _window_of(planner: WindowPlanner, steps_ms: list[float]) -> int:
    """Captures such steps after twenty of 40 ms; returns how many the window had."""
    for _ in range(20):
        planner.step_done(40.0, captured=False)
    planner.window_begun()
    num_steps = EARLY_NUM_STEPS
    for number, step_ms in enumerate(steps_ms, 1):
        planner.step_done(step_ms, captured=True)
        if number == num_steps and planner.needs_another_step():
            num_steps += 1
        if number == num_steps:
            return number
    raise AssertionError("the window did not end")


@pytest.mark.parametrize(
    ("steps_ms", "num_steps"),
    [
        ([70.0] + [40.0] * 30, EARLY_NUM_STEPS),
        ([70.0] + [10.0] * 6 + [40.0] * 30, 1 + 6 + FEWEST_EARLY_STEPS),
        ([70.0] + [10.0] * 60, 20),
    ],
    ids=["usual", "made ahead", "always shorter"],
)
def test_a_window_goes_on_until_steps_are_as_long_as_the_others(
    steps_ms: list[float], num_steps: int
) -> None:
    """While the profiler starts, the input makes batches ahead."""
    planner = WindowPlanner(overhead_budget=0.01, window_steps=10, every_step=False)
    assert _window_of(planner, steps_ms) == num_steps
