"""Long series are shortened by buckets that keep their extremes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.reporting.downsample import envelope, series, usual_distance


def test_short_series_are_kept_as_they_are() -> None:
    made = series([0, 1, 2], [1.5, np.nan, 2.5], bridge=1)
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


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6)), max_size=300), st.integers(2, 40))
def test_extremes_survive_and_gaps_stay_gaps(values: list[float | None], most: int) -> None:
    ys = np.array([np.nan if value is None else value for value in values], dtype=float)
    made = series(np.arange(len(ys)), ys, max_points=most, bridge=1)
    # Half of the points for buckets, half for the stretches between gaps, and the gaps themselves.
    assert len(made["x"]) <= 2 * most + 2
    known = ys[np.isfinite(ys)]
    highest = [value for value in made.get("high", made["y"]) if value is not None]
    assert bool(highest) == bool(known.size)
    if known.size:
        lowest = [value for value in made.get("low", made["y"]) if value is not None]
        assert np.isclose(min(lowest), known.min(), rtol=1e-4)
        assert np.isclose(max(highest), known.max(), rtol=1e-4)


@pytest.mark.parametrize("num", [10, 3_000])
def test_missing_steps_are_a_gap_and_no_straight_line(num: int) -> None:
    steps = np.delete(np.arange(num), slice(num // 2, num // 2 + num // 5))
    lines = envelope(steps, np.ones(len(steps)), max_points=400, bridge=1)
    (gap,) = np.flatnonzero(np.isnan(lines.median))
    assert lines.x[gap - 1] < num // 2 <= lines.x[gap] < num // 2 + num // 5 <= lines.x[gap + 1]


def test_a_series_that_goes_back_breaks_there() -> None:
    lines = envelope([0, 10, 20, 10, 20, 30], np.arange(6.0))
    assert np.flatnonzero(np.isnan(lines.median)).tolist() == [3]
    kept = np.isfinite(lines.median)
    assert lines.x[kept].tolist() == [0, 10, 20, 10, 20, 30]


def test_values_that_are_usually_apart_have_no_gaps_between_them() -> None:
    x = np.r_[np.arange(0, 100, 10), np.arange(200, 300, 10)]
    lines = envelope(x, np.ones(20), bridge=usual_distance(x))
    assert np.isnan(lines.median).sum() == 1
