"""The timeline of a run whose wall clock was set by an hour meanwhile has no such hour."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.tables.store import Profile
from strategy_profiles.timeline.layout import lay_out
from tests.profiles.analysis.test_set_clock import HOUR_NS, SET_AFTER, set_clock
from tests.synthetic import write_run


@pytest.mark.parametrize("jump_ns", [HOUR_NS, -HOUR_NS])
@pytest.mark.parametrize("workers", [1, 2])
def test_every_span_is_where_it_is_without_the_change(
    workers: int, jump_ns: int, tmp_path: Path
) -> None:
    profile, usual = set_and_usual(workers, jump_ns, tmp_path)
    drawn, expected = lay_out(profile), lay_out(usual)
    assert len(set(np.array(expected.steps["step"]) > SET_AFTER)) == 2
    for name in ("start", "end", "steps", "sends", "length_ns"):
        np.testing.assert_equal(getattr(drawn, name), getattr(expected, name))


def set_and_usual(workers: int, jump_ns: int, tmp_path: Path) -> tuple[Profile, Profile]:
    """A run whose clock was set by `jump_ns`, and the same run without that."""
    options = {"steps": 60, "windows": 4, "workers": workers, "checksums": False}
    usual = strategy_profiles.load(write_run(tmp_path / "usual", **options))
    run = Path(shutil.copytree(usual.path, tmp_path / "set"))
    set_clock(run, jump_ns)
    for path in run.glob("worker-*/**/*.parquet"):
        table = pq.read_table(path)
        if {"step", "start_ns"} <= set(table.column_names):
            later = (table["step"].to_numpy() > SET_AFTER) * jump_ns
            index = table.schema.get_field_index("start_ns")
            field = table.schema.field(index)
            moved = pa.array(table["start_ns"].to_numpy() + later, field.type)
            pq.write_table(table.set_column(index, field, moved), path)
    return strategy_profiles.load(run), usual
