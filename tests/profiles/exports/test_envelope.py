"""Long series are shortened by buckets that keep their extremes."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from strategy_lab.profiles.exports.report.envelope import series


def test_short_series_are_kept_as_they_are() -> None:
    made = series([0, 1, 2], [1.5, np.nan, 2.5])
    assert made == {"x": [0, 1, 2], "y": [1.5, None, 2.5], "steps_per_point": 1}


def test_one_slow_step_in_ten_thousand_is_seen() -> None:
    wall = np.full(10_000, 20.0)
    wall[7_777] = 900.0
    made = series(np.arange(10_000), wall, max_points=1000)
    assert len(made["x"]) == 500
    assert made["steps_per_point"] == 20
    assert max(made["high"]) == 900.0
    assert made["high"].count(900.0) == 1
    assert set(made["y"]) == {20.0}


@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=300), st.integers(2, 40))
def test_extremes_survive_and_gaps_stay_gaps(values: list[float | None], most: int) -> None:
    ys = np.array([np.nan if value is None else value for value in values], dtype=float)
    made = series(np.arange(len(ys)), ys, max_points=most)
    assert len(made["x"]) <= max(most, 1)
    known = ys[np.isfinite(ys)]
    highest = [value for value in made.get("high", made["y"]) if value is not None]
    assert bool(highest) == bool(known.size)
    if known.size:
        assert np.isclose(max(highest), known.max(), rtol=1e-4)
