"""Any field of any event may hold anything: a run is read, summed up and printed all the same."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

import strategy_profiles
from strategy_core.cli._summary_text import print_summary
from strategy_profiles.tables.schema import TABLES
from tests.event_records import read_records, replace_text, write_records
from tests.synthetic import write_run

pytestmark = pytest.mark.slow

FILES = ("launcher.jsonl", "worker-0-0/events.jsonl")
ODD = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**70), 2**70),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["\ud800", "\x1b[2J", "<script>", "", "/device:CPU:0"]),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options: dict[str, Any] = {"steps": 12, "replicas": 2, "windows": 1, "window_steps": 3}
    return write_run(tmp_path_factory.mktemp("odd") / "whole", **options)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_odd_values_are_no_traceback(whole: Path, data: st.DataObject) -> None:
    run = whole.with_name("odd")
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(whole, run)
    file = run / data.draw(st.sampled_from(FILES))
    records = read_records(file)
    one_of_each_kind = {record["kind"]: record for record in records}
    chosen = one_of_each_kind[data.draw(st.sampled_from(sorted(one_of_each_kind)))]
    for name in data.draw(st.lists(st.sampled_from(sorted(chosen)), min_size=1, max_size=3)):
        chosen[name] = data.draw(ODD)
    write_records(file, records)

    profile = strategy_profiles.load(run)
    for table in TABLES:
        assert profile.table(table).schema == TABLES[table]
    summary = profile.summary()
    json.dumps(summary, allow_nan=False)
    console = Console(file=io.StringIO(), force_terminal=True)
    print_summary(profile, summary, console)
    assert "\x1b[2J" not in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_segment_of_two_billion_workers_is_damaged(tmp_path: Path) -> None:
    """A list of them would need all the memory that the machine has."""
    run = write_run(tmp_path / "run", steps=20, windows=1)
    events = run / "worker-0-0" / "events.jsonl"
    replace_text(events, '"num_workers":1,', f'"num_workers":{2**31 - 1},')
    assert strategy_profiles.load(run).summary()["segments"] == []
