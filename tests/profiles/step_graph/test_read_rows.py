"""A replay reads the rows of the steps that it replays alone."""

from __future__ import annotations

from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from strategy_profiles.step_graph.recording import read_rows
from strategy_profiles.tables.store import Profile, load
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with copies of its first 16 windows, and one more window."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    return write_run(folder, steps=200, windows=17, checksums=True)


def _captured(profile: Profile) -> list[int]:
    return sorted(set(profile.table("replica_steps")["step"].to_pylist()))


@pytest.mark.slow
def test_the_rows_of_some_steps_are_those_of_the_table(run: Path) -> None:
    profile = load(run)
    captured = _captured(profile)
    chosen = [captured[3], captured[40], captured[-1]]
    rows_of_step = read_rows(load(run), 0, chosen)["spans"]
    assert list(rows_of_step) == chosen
    for step, rows in rows_of_step.items():
        spans = profile.table("spans").filter(pc.equal(pc.field("step"), step)).to_pylist()
        assert rows.to_pylist() == sorted(spans, key=itemgetter("start_ns"))


def test_a_step_without_a_collective_has_no_rows_of_one(run: Path) -> None:
    after_all = _captured(load(run))[-1] + 1
    assert read_rows(load(run), 0, [after_all]) == {"spans": {}, "transfers": {}, "collectives": {}}


def test_of_a_long_run_the_other_spans_are_never_in_memory(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = _captured(load(run))[3]
    read_as_a_whole = []
    table = Profile.table

    def noting(profile: Profile, name: str) -> pa.Table:
        read_as_a_whole.append(name)
        return table(profile, name)

    monkeypatch.setattr(Profile, "table", noting)
    read_rows(load(run), 0, [step])
    assert "spans" not in read_as_a_whole
