"""Rows with equal values are a group; ranks and extremes are those within it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.capture.grouping import group_max, groups_by, rank_in_group

ROWS = st.lists(st.tuples(st.sampled_from([-1, 0, 3, 2**40]), st.integers(0, 2)), max_size=20)


def ints(values: list[int]) -> np.ndarray:
    return np.array(values, np.int64)


@given(ROWS)
def test_groups_are_numbered_in_the_order_of_their_values(rows: list[tuple[int, int]]) -> None:
    group = groups_by(ints([a for a, _ in rows]), ints([b for _, b in rows]))
    numbers = {row: number for number, row in enumerate(sorted(set(rows)))}
    assert group.tolist() == [numbers[row] for row in rows]


def test_a_rank_counts_the_earlier_rows_of_the_same_group() -> None:
    assert rank_in_group(ints([1, 0, 1, 1]), ints([30, 5, 10, 20])).tolist() == [2, 0, 0, 1]


def test_rows_of_one_time_keep_their_order() -> None:
    assert rank_in_group(ints([0, 0, 0]), ints([7, 7, 7])).tolist() == [0, 1, 2]


def test_a_maximum_is_that_of_the_own_group() -> None:
    assert group_max(ints([0, 1, 0]), ints([4, -2, 9])).tolist() == [9, -2, 9]


def test_without_rows_there_are_no_groups() -> None:
    none = ints([])
    assert groups_by(none, none).tolist() == []
    assert rank_in_group(none, none).tolist() == []
    assert group_max(none, none).tolist() == []
