"""Distinct numbers of a column are those that NumPy finds."""

from __future__ import annotations

import numpy as np
import pytest

from strategy_profiles.tables.columns import Ints, distinct, sorted_distinct

LARGE = 1 << 60


@pytest.mark.parametrize(
    "values",
    [
        np.zeros(0, np.int64),
        np.array([7], np.int64),
        np.array([7, 7, 7], np.int64),
        np.array([3, -1, 3, 0, -1], np.int64),
        np.array([LARGE, -LARGE, 5, LARGE], np.int64),
        np.random.default_rng(0).integers(-50, 50, 1_000),
    ],
    ids=["none", "one", "the same", "few", "far apart", "many"],
)
def test_distinct_numbers_are_in_order_and_each_entry_has_its_place(values: Ints) -> None:
    expected, positions = np.unique(values, return_inverse=True)
    assert sorted_distinct(values).tolist() == expected.tolist()
    numbers, number_of_value = distinct(values)
    assert (numbers.tolist(), number_of_value.tolist()) == (expected.tolist(), positions.tolist())
