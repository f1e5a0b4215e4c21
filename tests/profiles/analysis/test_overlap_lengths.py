"""Interval unions against counting every unit of time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from profiles.analysis.intervals import intersection_length, union_length

spans = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


def edges(parts: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    starts = np.array([start for start, _ in parts], np.int64)
    return starts, starts + np.array([length for _, length in parts], np.int64)


def covered(parts: list[tuple[int, int]]) -> set[int]:
    return {at for start, length in parts for at in range(start, start + length)}


@given(spans, spans)
def test_lengths_are_those_of_sets_of_moments(
    a: list[tuple[int, int]], b: list[tuple[int, int]]
) -> None:
    assert union_length(*edges(a)) == len(covered(a))
    assert intersection_length(*edges(a), *edges(b)) == len(covered(a) & covered(b))
