"""The steps inside of recorded calls."""

from __future__ import annotations

import numpy as np

from strategy_profiles.capture.step_calls import steps_of_calls
from strategy_profiles.capture.xspace import Events


def _ops(*ops: tuple[int, int]) -> Events:
    """Op events by name and start, 1 ns long."""
    name, start = (np.asarray(column, np.int64) for column in zip(*ops, strict=True))
    nothing = np.zeros(len(name), np.int64)
    return Events(name, start, start + 1, nothing, nothing)


def _steps_start_end(calls: dict[int, int], ops: Events) -> list[tuple[int, ...]]:
    """Of two annotations, step 4 from 0 to 100 ns and step 7 from 100 to 200 ns."""
    number, start, end = (np.asarray(column) for column in ((4, 7), (0, 100), (100, 200)))
    return list(
        zip(*(c.tolist() for c in steps_of_calls(number, start, end, calls, ops)), strict=True)
    )


def test_an_annotation_without_a_recorded_step_is_left_out() -> None:
    assert _steps_start_end({4: 1}, _ops((0, 10))) == [(4, 0, 100)]


def test_a_step_of_a_call_begins_with_the_first_op_that_runs_once_per_step() -> None:
    ops = _ops((5, 1), (0, 10), (1, 12), (0, 50), (1, 49), (0, 70), (1, 80), (0, 150))
    assert _steps_start_end({4: 3}, ops) == [(4, 0, 49), (5, 49, 70), (6, 70, 100)]


def test_without_a_repeated_op_the_steps_get_equal_parts() -> None:
    assert _steps_start_end({4: 2, 7: 1}, _ops((0, 10))) == [
        (4, 0, 50),
        (5, 50, 100),
        (7, 100, 200),
    ]
