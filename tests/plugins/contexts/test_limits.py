"""What a program may use is stated, and the first limit that it exceeds is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from strategy_contexts.limits import Limits, Use, folder_bytes, of_this_machine

LIMITS = Limits(wall_s=60, cpu_s=120, memory_bytes=2_000_000_000, num_processes=4, disk_bytes=10**8)
FITS = Use(wall_s=60, cpu_s=120, memory_bytes=2_000_000_000, num_processes=4, disk_bytes=10**8)


def test_a_program_within_its_limits_goes_on() -> None:
    assert LIMITS.exceeded(FITS) is None


@pytest.mark.parametrize(
    ("use", "said"),
    [
        (replace(FITS, wall_s=60.1), "after 60 s"),
        (replace(FITS, cpu_s=121), "more than 120 s of processor time"),
        (replace(FITS, memory_bytes=2_600_000_000), "used 2.6 GB of memory; 2.0 GB is the limit"),
        (replace(FITS, num_processes=5), "had 5 processes; 4 is the limit"),
        (replace(FITS, disk_bytes=2 * 10**8), "wrote 200 MB to its folder; 100 MB is the limit"),
    ],
)
def test_the_limit_that_was_exceeded_is_named(use: Use, said: str) -> None:
    sentence = LIMITS.exceeded(use)
    assert sentence is not None
    assert sentence.startswith("The program was stopped")
    assert said in sentence


def test_no_program_may_take_more_than_half_of_the_memory() -> None:
    limits = of_this_machine()
    assert 0 < limits.memory_bytes <= Limits().memory_bytes


def test_files_in_folders_below_count_too(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"x" * 100_000)
    assert folder_bytes(tmp_path) >= 100_000
    assert folder_bytes(tmp_path / "nowhere") == 0
