"""The global batch of a segment that opened before its first batch had arrived."""

from __future__ import annotations

import pytest

from strategy_lab.profiles.tables.event_tables import read_segments
from tests.event_records import source


@pytest.mark.parametrize(
    ("opened", "examples", "batch"),
    [
        (None, [16, 16, 6, 16, 16, 6], 16),
        (None, [6, 16], 16),
        (None, [None, 16], 16),
        (None, [None, None], None),
        (None, [], None),
        (32, [16, 16], 32),
    ],
)
def test_it_is_the_size_of_most_of_its_steps(
    opened: int | None, examples: list[int | None], batch: int | None
) -> None:
    steps = [{"kind": "step", "step": n, "examples": each} for n, each in enumerate(examples)]
    other = {"kind": "step", "step": 99, "segment": 1, "examples": 5}
    found = read_segments(
        [source(0, 0, {"kind": "segment", "global_batch_size": opened}, *steps, other, other)]
    )
    assert [segment.global_batch_size for segment in found] == [batch]
