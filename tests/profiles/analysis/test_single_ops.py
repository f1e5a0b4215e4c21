"""Collectives and sends one by one: the same totals as the communication by kind."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strategy_profiles.analysis.collective_calls import collective_calls
from strategy_profiles.analysis.communication import communication
from strategy_profiles.analysis.sends import sends
from strategy_profiles.tables import sql
from strategy_profiles.tables.store import load
from tests.synthetic import write_run

SIZES = (2_097_152, 262_144)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return write_run(folder, steps=100, straggler=(2, 30.0), collective_bytes=SIZES)


def test_every_op_has_its_calls_bytes_and_bandwidth(run: Path) -> None:
    calls = collective_calls(load(run), 0)
    assert [call.bytes for call in calls] == list(SIZES)
    assert [call.place for call in calls] == [1, 2]
    for call in calls:
        assert (call.per_step, call.group_size) == (1, 4)
        assert call.transfer_ms
        assert call.bytes
        assert call.algbw_gbps
        assert call.algbw_gbps == pytest.approx(call.bytes / call.transfer_ms / 1e6)
        assert call.busbw_gbps == pytest.approx(call.algbw_gbps * 2 * 3 / 4)


def test_the_ops_add_up_to_the_kind(run: Path) -> None:
    profile = load(run)
    (kind,) = communication(profile, profile.segments[0]).collectives
    calls = collective_calls(profile, 0)
    assert sum(call.bytes or 0 for call in calls) == pytest.approx(kind.bytes)
    total = sum((call.transfer_ms or 0) * call.per_step for call in calls)
    assert total == pytest.approx(kind.transfer_ms)
    waited = sum((call.wait_ms or 0) * call.per_step for call in calls)
    assert waited == pytest.approx(kind.wait_ms)  # over the same, typical steps


def test_the_replica_that_all_wait_for_does_not_wait(run: Path) -> None:
    first = collective_calls(load(run), 0)[0]
    waits = {part.replica: part.wait_ms for part in first.replicas}
    assert waits[2] == pytest.approx(0, abs=0.5)
    assert all(waits[replica] == pytest.approx(30, rel=0.1) for replica in (0, 1, 3))


def test_sends_are_listed_by_tensor_and_direction(run: Path) -> None:
    sent = sends(load(run), 0)
    assert len({(item.tensor, item.send_device, item.recv_device) for item in sent}) == len(sent)
    assert all(item.per_step == 1 for item in sent)
    profile = load(run)
    total = communication(profile, profile.segments[0]).transfer_bytes
    assert sum((item.bytes or 0) * item.per_step for item in sent) == pytest.approx(total)


def test_without_a_window_single_ops_are_empty(tmp_path: Path) -> None:
    profile = load(write_run(tmp_path / "run", steps=5, windows=0))
    assert collective_calls(profile, 0) == ()
    assert sends(profile, 0) == ()


def test_rows_of_different_replicas_that_the_profiler_missed_take_no_call_away(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "run", steps=100, collective_bytes=SIZES)
    file, *_ = sorted(run.rglob("collectives*.parquet"))
    rows = pq.read_table(file)
    first, second, *_ = sorted(set(rows["step"].to_pylist()))
    missed = {(first, 0), (second, 1)}
    ends = zip(rows["step"].to_pylist(), rows["replica"].to_pylist(), strict=True)
    pq.write_table(rows.filter(pa.array([end not in missed for end in ends])), file)
    assert [call.per_step for call in collective_calls(load(run), 0)] == [1, 1]


def test_a_call_names_all_sources_of_its_times(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=100, collective_bytes=SIZES)
    assert {call.source for call in collective_calls(load(run), 0)} == {"measured"}
    file, *_ = sorted(run.rglob("collectives*.parquet"))
    rows = pq.read_table(file)
    listed = rows.to_pylist()
    listed[0]["source"] = "estimated"
    pq.write_table(pa.Table.from_pylist(listed, rows.schema), file)
    profile = load(run)
    sources = {call.source for call in collective_calls(profile, 0)}
    assert sources == {"estimated/measured", "measured"}
    (kind,) = communication(profile, profile.segments[0]).collectives
    assert kind.source == "estimated/measured"


@pytest.mark.slow
def test_the_query_does_not_grow_with_the_captured_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = load(write_run(tmp_path / "run", steps=320, windows=30))
    monkeypatch.setattr(sql, "LONGEST_QUERY", 2_000)
    assert collective_calls(run, 0)
