"""Run folders of version 0.1.0 open as they did: the same rows, the same numbers, no notes.

`facts.json` has the number of rows and the sums of columns that 0.1.0 itself read from them.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from strategy_lab import profiles

RUNS = Path(__file__).parents[1] / "data" / "runs_of_0_1_0"
FACTS = json.loads((RUNS / "facts.json").read_text())


@pytest.mark.parametrize("name", FACTS)
def test_a_run_of_an_earlier_version_reads_as_it_did(name: str) -> None:
    profile = profiles.load(RUNS / name)
    for table, known in FACTS[name].items():
        found = profile.table(table)
        assert found.num_rows == known["rows"], table
        for column, total in known["sums"].items():
            assert pc.sum(found[column].cast(pa.float64())).as_py() == pytest.approx(total), column
    json.dumps(profile.summary(), allow_nan=False)
    assert profile.status.state == "finished"
    assert profile.notes == ()
