"""Varints and events, against an encoder written for the tests."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.capture import wire
from tests.profiles.capture.xspace_builder import integer, message, varint

numbers = st.integers(-(2**63), 2**63 - 1)


def _buffer(parts: list[bytes]) -> tuple[wire.Bytes, wire.Ints, wire.Ints]:
    ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
    data = np.frombuffer(b"".join(parts) + wire.PADDING, np.uint8)
    return data, ends - np.asarray([len(part) for part in parts], np.int64), ends


@given(st.lists(numbers, min_size=1, max_size=30))
def test_varints_read_as_written(values: list[int]) -> None:
    buffer, begins, ends = _buffer([varint(value) for value in values])
    numbers, after = wire.read_varints(buffer, begins)
    assert numbers.tolist() == values
    assert after.tolist() == ends.tolist()


@pytest.mark.slow
@given(st.lists(st.tuples(st.integers(1, 2**40), st.integers(0, 2**60), st.integers(0, 2**60))))
def test_event_times_are_read_in_any_order_of_fields(events: list[tuple[int, int, int]]) -> None:
    parts = [
        integer(1, ident) + (integer(3, d) + integer(2, o) if ident % 2 else integer(2, o))
        for ident, o, d in events
    ]
    buffer, begins, ends = _buffer(parts)
    ids, after = wire.read_metadata_ids(buffer, begins)
    offset, duration, stats_at = wire.read_event_times(buffer, after, ends)
    assert ids.tolist() == [ident for ident, _, _ in events]
    assert offset.tolist() == [o for _, o, _ in events]
    assert duration.tolist() == [d if ident % 2 else 0 for ident, _, d in events]
    assert stats_at.tolist() == ends.tolist()


def test_stats_of_all_types_are_stepped_over() -> None:
    text = message(4, integer(1, 5) + message(5, b"some text"))
    double = message(4, integer(1, 6) + b"\x11" + b"\x00" * 8)
    wanted = message(4, integer(1, 300) + integer(4, -12))
    zero = message(4, integer(1, 300))
    buffer, begins, ends = _buffer([text + double + wanted, zero, text])
    stats = wire.read_integer_stats(buffer, begins, ends, (300,))
    assert stats[300].tolist() == [-12, 0, -1]
