"""A table that was recorded and is not there, or not as it was, is named in a note."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import strategy_profiles
from tests.synthetic import write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", steps=16, replicas=2, windows=1, window_steps=3)


def test_a_deleted_table_is_noted(run: Path) -> None:
    (run / "worker-0-0" / "window-000000" / "collectives.parquet").unlink()
    (note,) = strategy_profiles.load(run).notes
    assert note.startswith("collectives.parquet of worker-0-0/window-000000 is missing: events")


def test_a_deleted_window_is_one_note(run: Path) -> None:
    shutil.rmtree(run / "worker-0-0" / "window-000000")
    (note,) = strategy_profiles.load(run).notes
    assert note.startswith("spans.parquet, replica_steps.parquet, core_steps.parquet, ")
    assert "worker-0-0/window-000000 are missing" in note


def test_a_deleted_placement_is_noted(run: Path) -> None:
    (run / "worker-0-0" / "placement-000.parquet").unlink()
    (note,) = strategy_profiles.load(run).notes
    assert note.startswith("placement-000.parquet of worker-0-0 is missing")


@pytest.mark.parametrize("times", [0, 2])
def test_a_table_with_other_rows_than_were_recorded_is_left_out(run: Path, times: int) -> None:
    file = run / "worker-0-0" / "placement-000.parquet"
    table = pq.read_table(file)
    rows = list(range(table.num_rows)) * times
    pq.write_table(table.take(rows or [0]), file)
    profile = strategy_profiles.load(run)
    assert profile.table("placement").num_rows == 0
    (note,) = profile.notes
    assert f"has {len(rows) or 1} rows of the {table.num_rows} recorded" in note


def test_the_tables_of_a_sound_run_are_those_that_were_recorded(run: Path) -> None:
    profile = strategy_profiles.load(run)
    assert profile.table("spans").num_rows > 0
    assert profile.notes == ()
