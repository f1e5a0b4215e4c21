"""Run folders of earlier versions open as they did: the same rows, the same numbers, no notes.

`runs_of_0_1_0` are made-up runs. `runs_of_889cb22` are runs that the version of that commit really
recorded: a mirrored one with a change of the batch, a TPU, two workers, parameter servers. In both
folders `facts.json` has the rows and the sums of columns that the earlier version itself read.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import strategy_profiles
from strategy_profiles.timeline import lay_out
from tests.app.looking import open_page

pytestmark = pytest.mark.slow

DATA = Path(__file__).parents[1] / "data"
RECORDED = DATA / "runs_of_889cb22"
RUNS = [
    run
    for folder in (DATA / "runs_of_0_1_0", RECORDED)
    for run in sorted(folder.iterdir())
    if run.is_dir()
]


@pytest.mark.parametrize("run", RUNS, ids=lambda run: f"{run.parent.name}-{run.name}")
def test_a_run_of_an_earlier_version_reads_as_it_did(run: Path) -> None:
    profile = strategy_profiles.load(run)
    facts = json.loads((run.parent / "facts.json").read_text())[run.name]
    for table, known in facts.items():
        rows = profile.table(table)
        assert rows.num_rows == known["rows"], table
        for column, total in known["sums"].items():
            assert pc.sum(rows[column].cast(pa.float64())).as_py() == pytest.approx(total), column
    json.dumps(profile.summary(), allow_nan=False)
    assert profile.status.state == "finished"
    assert profile.notes == ()


@pytest.mark.parametrize("name", ["mirrored", "servers", "tpu", "workers"])
def test_a_recorded_run_of_an_earlier_version_has_its_pages(name: str) -> None:
    profile = strategy_profiles.load(RECORDED / name)
    assert lay_out(profile).tracks
    for page in ("overview", "communication", "placement"):
        page_after = open_page(page, RECORDED, run=name)
        assert not page_after.exception, page
        assert not page_after.error, page
