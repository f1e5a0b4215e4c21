"""The middle half of the steps: a hiccup is not in it, and several rows of a step stay together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.analysis.steps import steps_like_others, typical_steps


def test_a_hiccup_is_not_typical() -> None:
    step = np.repeat(np.arange(2, 7), 4)
    wall = np.repeat([52.7, 290.0, 53.8, 45.0, 45.8], 4)
    assert typical_steps(step, wall).tolist() == [2, 4, 6]


def test_a_step_of_unknown_length_is_not_typical() -> None:
    assert typical_steps(np.array([1, 2]), np.array([np.nan, 3.0])).tolist() == [2]


@given(st.lists(st.floats(0.1, 1000), min_size=1, max_size=50))
def test_typical_steps_are_the_middle_of_all_lengths(walls: list[float]) -> None:
    wall = np.array(walls)
    chosen = typical_steps(np.arange(len(wall)), wall)
    assert len(chosen) >= len(wall) / 2
    rest = np.delete(wall, chosen)
    low, high = wall[chosen].min(), wall[chosen].max()
    assert ((rest < low) | (rest > high)).all()


@pytest.mark.parametrize(
    ("wall_ms", "others_ms", "expected"),
    [
        ([10, 10, 10, 40, 40, 40], [40] * 9, [3, 4, 5]),
        ([10, 10, 10, 10, 40, 40], [40] * 9, [0, 1, 2, 3, 4, 5]),
        ([10, 10, 10, 40, 40, 40], [10] * 3 + [40] * 6, [0, 1, 2, 3, 4, 5]),
        ([10, 10, 10], [], [0, 1, 2]),
    ],
    ids=["enough like the others", "too few", "others are as short", "no others"],
)
def test_captured_steps_with_batches_made_ahead_are_left_out(
    wall_ms: list[int], others_ms: list[int], expected: list[int]
) -> None:
    steps = np.arange(len(wall_ms), dtype=np.int64)
    found = steps_like_others(steps, np.array(wall_ms, float), np.array(others_ms, float))
    assert found.tolist() == expected
