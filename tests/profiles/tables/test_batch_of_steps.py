"""The global batch of a segment that opened before its first batch had arrived."""

from __future__ import annotations

import pytest

from strategy_profiles.tables.event_tables import read_segments
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
def test_the_batch_of_a_segment_is_the_size_of_most_of_its_steps(
    opened: int | None, examples: list[int | None], batch: int | None
) -> None:
    steps = [{"kind": "step", "step": n, "examples": each} for n, each in enumerate(examples)]
    other = {"kind": "step", "step": 99, "segment": 1, "examples": 5}
    segments = read_segments(
        [source(0, 0, {"kind": "segment", "global_batch_size": opened}, *steps, other, other)]
    )
    assert [segment.global_batch_size for segment in segments] == [batch]


def test_sizes_that_vary_by_design_are_no_partial_batches() -> None:
    """Batches by a number of tokens: no size is that of most steps, so none is the full one."""
    examples = [83, 21, 25, 9, 21, 40, 33]
    steps = [{"kind": "step", "step": n, "examples": each} for n, each in enumerate(examples)]
    opened = {"kind": "segment", "global_batch_size": None}
    (segment,) = read_segments([source(0, 0, opened, *steps)])
    assert (segment.global_batch_size, segment.batch_sizes) == (25, (9, 83))
