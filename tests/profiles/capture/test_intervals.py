"""Interval sets against counting every single nanosecond."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.capture.intervals import Intervals

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12)
times = st.lists(st.integers(-5, 70), min_size=1, max_size=12)


def _set(pairs: list[tuple[int, int]]) -> Intervals:
    columns = np.asarray(pairs, np.int64).reshape(-1, 2)
    return Intervals.union((columns[:, 0], columns[:, 1]))


def _points(pairs: list[tuple[int, int]]) -> set[int]:
    return {point for start, end in pairs for point in range(start, end)}


@pytest.mark.slow
@given(spans, spans, times)
def test_lengths_are_counts_of_points(
    first: list[tuple[int, int]], second: list[tuple[int, int]], at: list[int]
) -> None:
    both = _set(first) | _set(second)
    points = _points(first) | _points(second)
    covered = both.covered_until(np.asarray(at, np.int64))
    assert covered.tolist() == [sum(point < t for point in points) for t in at]
    inside = both.contains(np.asarray(at, np.int64))
    assert inside.tolist() == [t in points for t in at]


@given(spans)
def test_a_union_is_sorted_and_disjoint(pairs: list[tuple[int, int]]) -> None:
    union = _set(pairs)
    assert np.all(union.ends > union.starts)
    assert np.all(union.starts[1:] > union.ends[:-1])
