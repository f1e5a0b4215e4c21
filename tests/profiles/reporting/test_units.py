"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest

from strategy_profiles.reporting import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (math.nan, "–"),
        (0, "0"),
        (0.01234, "0.0123"),
        (0.0000368, "3.68e-05"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12,346"),
        (-1.5, "-1.50"),
    ],
)
def test_numbers_keep_three_significant_digits(value: float | None, text: str) -> None:
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, None), (math.inf, None), (10_276.829, 10_277), (99.96, 100), (9.8765, 9.88)],
)
def test_a_column_of_numbers_shows_no_digits_that_mean_nothing(
    value: float | None, expected: float | None
) -> None:
    assert units.rounded(value) == expected


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [
        (None, "–"),
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.00 kB"),
        (2.5e6, "2.50 MB"),
        (1e12, "1.00 TB"),
    ],
)
def test_sizes_count_in_powers_of_ten(num_bytes: float | None, text: str) -> None:
    assert units.size(num_bytes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.85, "850 ms"), (12.34, "12.3 s"), (125, "2 min 5 s"), (3720, "1 h 2 min"), (None, "–")],
)
def test_a_length_of_time_has_a_fitting_unit(value: float | None, text: str) -> None:
    assert units.seconds(value) == text


def test_every_unit_shows_a_missing_value_as_a_dash() -> None:
    for write in (units.milliseconds, units.bandwidth, units.share, units.rate):
        assert write(None) == "–"
    assert units.share(0.0123) == "1.2 %"
    assert units.share(0.5) == "50 %"
    assert units.rate(1234.5, "examples") == "1,234 examples/s"


@pytest.mark.parametrize(
    ("gb_per_s", "text"), [(1.5, "1.50 GB/s"), (0.0012, "1.20 MB/s"), (None, units.MISSING)]
)
def test_a_bandwidth_is_bytes_a_second_in_their_own_unit(gb_per_s: float | None, text: str) -> None:
    assert units.bandwidth(gb_per_s) == text


def test_things_are_counted_in_their_number() -> None:
    assert units.counted(1, "step") == "1 step"
    assert units.counted(1200, "step") == "1,200 steps"


@pytest.mark.parametrize(
    ("num_bytes", "unit"), [(0.0, "B"), (999.0, "B"), (1e3, "kB"), (2.5e6, "MB"), (3e13, "TB")]
)
def test_a_column_uses_the_unit_of_its_largest_size(num_bytes: float, unit: str) -> None:
    scale, named = units.size_unit(num_bytes)
    assert named == unit
    number, own = units.size(num_bytes).split()
    assert (float(number), own) == (num_bytes / scale, unit)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(None, "–"), (0.0, "0 %"), (0.0123, "1.2 %"), (3.49, "349 %"), (168.4813, "16,800 %")],
)
def test_shares_have_no_more_digits_than_a_person_reads(ratio: float | None, text: str) -> None:
    assert units.share(ratio) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (201, 206, "+2.5 %"),
        (4, 2, "-50.0 %"),
        (1, 10, "+900.0 %"),
        (32, 65_600, "2,050 times"),
        (0, 0, "+0.0 %"),
    ],
)
def test_a_change_of_more_than_tenfold_is_a_factor(before: float, after: float, text: str) -> None:
    assert units.change_between(before, after) == text


def test_a_large_change_has_no_more_digits_than_a_person_reads() -> None:
    assert units.change(-0.4123) == "-41.2 %"
    assert units.change(168.4813) == "+16,800 %"
