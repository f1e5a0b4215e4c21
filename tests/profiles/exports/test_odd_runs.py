"""A run that was cut, or that says odd things, is exported all the same, and stays valid."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategy_profiles
from strategy_profiles.errors import LabError
from strategy_profiles.exports import formats, step_pages, write
from tests.event_records import read_records, write_records
from tests.plugins.leaves import from_doors
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

EVENTS = ("launcher.jsonl", "worker-0-0/events.jsonl")
CHECKS = {name: check for checks in from_doors("EXPORT_CHECKS") for name, check in checks.items()}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(),
    st.sampled_from(["", "\ud800", "<script>", "/device:CPU:0", [], {}, [1, "a"], {"a": None}]),
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = {"steps": 16, "replicas": 4, "windows": 1, "window_steps": 3, "ops_per_step": 4}
    segments = [{}, {"replicas": 2, "strategy": "central-storage"}]
    return write_run(tmp_path_factory.mktemp("runs") / "whole", segments=segments, **options)


def _check_exports(run: Path) -> None:
    try:
        profile = strategy_profiles.load(run)
    except LabError:
        return  # nothing of a run is left in it
    with tempfile.TemporaryDirectory() as folder:
        for name, each in formats().items():
            if each.media_type == "text/html" and each.step_page is None:
                page = write(profile, name, Path(folder) / name).read_text(encoding="utf-8")
                assert page.endswith("</html>\n")
        for name, check in CHECKS.items():
            check(write(profile, name, Path(folder) / name).read_text(encoding="utf-8"))
        json.loads(write(profile, "json", Path(folder) / "j").read_text(encoding="utf-8"))
        write(profile, "csv", Path(folder) / "csv")
        write(profile, "parquet", Path(folder) / "parquet")
        for name in step_pages():
            with contextlib.suppress(LabError):  # no step is left to show
                write(profile, name, Path(folder) / name)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_run_with_odd_values_can_be_exported(whole: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(shutil.copytree(whole, Path(folder) / "run"))
        file = run / data.draw(st.sampled_from(EVENTS))
        records = read_records(file)
        kinds = {record["kind"]: record for record in records}
        chosen = kinds[data.draw(st.sampled_from(sorted(kinds)))]
        for name in data.draw(st.lists(st.sampled_from(sorted(chosen)), min_size=1, max_size=3)):
            chosen[name] = data.draw(ODD)
        write_records(file, records)
        _check_exports(run)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_run_with_cut_files_can_be_exported(whole: Path, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(shutil.copytree(whole, Path(folder) / "run"))
        files = sorted(path for path in run.rglob("*") if path.is_file())
        for file in data.draw(st.lists(st.sampled_from(files), min_size=1, max_size=4)):
            file.write_bytes(file.read_bytes()[: data.draw(st.integers(0, file.stat().st_size))])
        _check_exports(run)
