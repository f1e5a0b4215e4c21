"""The imported runs of tests/data, which tests of pages and reports open, are as one is today."""

from __future__ import annotations

from pathlib import Path

import pytest

import strategy_profiles
from strategy_profiles.importers import import_profile
from strategy_profiles.run.events import Imported, Note
from strategy_profiles.tables.schema import TABLES
from tests.plugins.imports.made import old_gpu_profile

RUNS = Path(__file__).parents[2] / "data" / "imported"


@pytest.mark.parametrize("name", ["gpu_gemm", "old_gpu", "tpu_psum"])
def test_a_recorded_run_is_what_an_import_writes(name: str, tmp_path: Path) -> None:
    file = Path(__file__).parent / "data" / f"{name}.xplane.pb"
    if name == "old_gpu":
        file = tmp_path / file.name
        file.write_bytes(old_gpu_profile())
    now = strategy_profiles.load(import_profile(file, tmp_path / name))
    recorded = strategy_profiles.load(RUNS / name)
    for table in TABLES:
        assert recorded.table(table).equals(now.table(table)), table
    assert recorded.events(Imported)[0].unknown == now.events(Imported)[0].unknown
    then, today = ([note.message for note in run.events(Note)] for run in (recorded, now))
    assert then[1:] == today[1:]  # the first one names the file's folder
