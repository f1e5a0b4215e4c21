"""Lanes: nothing overlaps on one, and there are as few as can be."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from profiles.exports.lanes import pack

_SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=40)


def test_what_follows_stays_on_the_top_lane() -> None:
    assert pack([0, 10, 20], [10, 20, 30]) == [0, 0, 0]


def test_what_overlaps_goes_below() -> None:
    assert pack([0, 5, 6, 10], [10, 20, 8, 12]) == [0, 1, 2, 0]


@given(_SPANS)
def test_no_overlap_and_no_lane_too_many(spans: list[tuple[int, int]]) -> None:
    spans = sorted((start, start + length) for start, length in spans)
    lanes = pack([start for start, _ in spans], [end for _, end in spans])
    for lane in set(lanes):
        own = [span for span, at in zip(spans, lanes, strict=True) if at == lane]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(own))
    most = max((sum(s <= t < e for s, e in spans) for t, _ in spans), default=0)
    assert len(set(lanes)) == most
