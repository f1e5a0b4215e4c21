"""Bytes and bandwidths: counted once per group, with nccl-tests' factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.analysis.communication import CollectiveUse, collective_uses, communication
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.analysis.overlap import overlaps
from strategy_profiles.capture.bandwidth import bus_factor
from strategy_profiles.run.event_log import EventLog
from strategy_profiles.run.events import PlacementRecorded
from strategy_profiles.run.layout import worker_folder
from strategy_profiles.tables.schema import TABLES
from tests.synthetic import write_run

GB = 1e9


@pytest.mark.parametrize(
    ("op", "group_size", "factor"),
    [
        ("all-reduce", 2, 1.0),
        ("all-reduce", 4, 1.5),
        ("all-gather", 4, 0.75),
        ("reduce-scatter", 8, 0.875),
        ("all-to-all", 4, 0.75),
        ("broadcast", 4, 1.0),
        ("reduce", 4, 1.0),
        ("all-reduce", 1, None),
        ("permute", 4, None),
        ("gather", 4, None),
    ],
)
def test_each_collective_has_its_bus_factor(op: str, group_size: int, factor: float | None) -> None:
    assert bus_factor(op, group_size) == factor


@pytest.mark.parametrize(("replicas", "workers"), [(2, 1), (4, 1), (4, 2), (16, 1)])
def test_a_collective_counts_once_for_its_group(
    tmp_path: Path, replicas: int, workers: int
) -> None:
    run = write_run(
        tmp_path / "run",
        replicas=replicas,
        workers=workers,
        steps=40,
        collective_bytes=(3_000_000, 1_000_000),
        transfer_ms=4.0,
    )
    profile = strategy_profiles.load(run)
    traffic = communication(profile, profile.segments[0])
    (use,) = traffic.collectives
    assert (use.op, use.group_size, use.per_step) == ("all-reduce", replicas, 2.0)
    assert use.bytes == traffic.collective_bytes == 4_000_000
    assert use.bytes_per_call == 2_000_000
    assert use.transfer_ms == pytest.approx(4.0)
    assert use.algbw_gbps == pytest.approx(4e6 / 4e-3 / GB)
    assert use.busbw_gbps == pytest.approx(use.algbw_gbps * 2 * (replicas - 1) / replicas)


def test_transfers_between_devices_are_counted_per_pair(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", strategy="central-storage", replicas=4, steps=40)
    profile = strategy_profiles.load(run)
    traffic = communication(profile, profile.segments[0])
    sent = [item for item in traffic.traffic if item.source == "measured"]
    assert {item.send_device[-1] for item in sent} == {"0"}
    assert [item.recv_device[-1] for item in sent] == ["1", "2", "3"]
    size = profile.segments[0].parameter_bytes
    assert [item.bytes for item in sent] == [size] * 3
    assert traffic.transfer_bytes == 3 * (size or 0)


def test_a_ring_share_is_derived_and_says_so(tmp_path: Path) -> None:
    profile = strategy_profiles.load(write_run(tmp_path / "run", replicas=4, steps=40))
    traffic = communication(profile, profile.segments[0])
    ring = [item for item in traffic.traffic if item.source == "ring model"]
    assert [(i.send_device[-1], i.recv_device[-1]) for i in ring] == [
        ("0", "1"),
        ("1", "2"),
        ("2", "3"),
        ("3", "0"),
    ]
    assert ring[0].bytes == pytest.approx(1.5 * (traffic.collective_bytes or 0))


def test_one_replica_moves_nothing_and_no_window_is_unknown(tmp_path: Path) -> None:
    alone = strategy_profiles.load(write_run(tmp_path / "one", replicas=1, steps=40))
    traffic = communication(alone, alone.segments[0])
    assert (traffic.collectives, traffic.collective_bytes, traffic.reason) == ((), 0, None)
    bare = strategy_profiles.load(write_run(tmp_path / "bare", steps=40, windows=0))
    traffic = communication(bare, bare.segments[0])
    assert traffic.collective_bytes is None
    assert traffic.reason == "the segment has no capture window"


def test_names_that_functions_in_turns_share_are_the_reason_of_unknown_bytes(
    tmp_path: Path,
) -> None:
    run = write_run(tmp_path / "run", steps=40)
    for file in run.rglob("collectives.parquet"):
        rows = pq.read_table(file)
        unknown = pa.nulls(rows.num_rows, TABLES["collectives"].field("bytes").type)
        at = rows.schema.get_field_index("bytes")
        pq.write_table(rows.set_column(at, "bytes", unknown), file)
    profile = strategy_profiles.load(run)
    name = profile.table("collectives")["name"][0].as_py()
    traffic = communication(profile, profile.segments[0])
    assert traffic.reason == "the size of at least one tensor is only known when the step runs"
    log = EventLog(worker_folder(run, 0, 0).events)
    log.write(PlacementRecorded(0, None, 0, "made up", shared_names=[name]))
    log.close()
    profile = strategy_profiles.load(run)
    traffic = communication(profile, profile.segments[0])
    assert traffic.collective_bytes is None
    assert "collectives of the same name and different sizes" in str(traffic.reason)


def test_captures_without_an_op_of_a_replica_are_not_called_missing(tmp_path: Path) -> None:
    """As of steps that run op by op: their captures hold no graph of a replica."""
    run = write_run(tmp_path / "run", steps=40, marks=False)
    for name in ("replica_steps", "collectives", "transfers", "spans"):
        for file in run.rglob(f"{name}.parquet"):
            pq.write_table(pq.read_table(file).slice(0, 0), file)
    profile = strategy_profiles.load(run)
    traffic = communication(profile, profile.segments[0])
    assert traffic.reason == "its captures hold no op of a replica's graph"
    facts = gather_facts(profile, profile.segments[0])
    notes = {item.key: item.note for item in key_numbers(facts)}
    assert {notes[key] for key in ("exposed", "traffic", "busbw")} == {traffic.reason}


def test_communication_after_compute_is_all_exposed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=40, noise=0.0, transfer_ms=3.0)
    profile = strategy_profiles.load(run)
    for overlap in overlaps(profile, 0):
        assert overlap.exposed_ms == pytest.approx(3.0, abs=0.01)
        assert overlap.overlap == pytest.approx(0.0, abs=0.001)


def test_calls_in_flight_together_are_waited_for_once() -> None:
    """Two calls of a replica overlap: 30 and 20 ms of waiting are 32 ms of the step."""
    ms = 1_000_000
    common = {"segment": 0, "step": 5, "worker": 0, "op": "all-reduce", "group_size": 2}
    rows = [
        common | {"replica": 0, "start_ns": 0, "wait_ms": 30.0, "transfer_ms": 4.0},
        common | {"replica": 0, "start_ns": 12 * ms, "wait_ms": 20.0, "transfer_ms": 4.0},
        common | {"replica": 1, "start_ns": 30 * ms, "wait_ms": 0.0, "transfer_ms": 4.0},
        common | {"replica": 1, "start_ns": 40 * ms, "wait_ms": 0.0, "transfer_ms": 2.0},
    ]
    (use,) = _uses_of_two_replicas(rows, steps=[5])
    assert use.wait_ms == pytest.approx((32 + 0) / 2)
    assert use.transfer_ms == pytest.approx((6 + 6) / 2)  # 30 to 34 and 32 to 36 are 6 ms
    assert use.call_wait_ms == pytest.approx((30 + 20) / 4)
    assert use.call_transfer_ms == pytest.approx((4 + 4 + 4 + 2) / 4)


def test_a_call_of_some_steps_and_replicas_is_a_mean_over_all_of_them() -> None:
    """As the step that it is divided by, and as the phases of the breakdown."""
    call = {"segment": 0, "step": 5, "worker": 0, "op": "broadcast", "group_size": 1}
    call |= {"replica": 0, "start_ns": 0, "wait_ms": 30.0, "transfer_ms": 10.0}
    (use,) = _uses_of_two_replicas([call], steps=[5, 6])
    assert (use.wait_ms, use.transfer_ms) == (30.0 / 4, 10.0 / 4)


def _uses_of_two_replicas(
    rows: list[dict[str, Any]], steps: list[int]
) -> tuple[CollectiveUse, ...]:
    captured = [
        {"segment": 0, "step": step, "replica": replica, "wall_ms": 50.0}
        for step in steps
        for replica in range(2)
    ]
    return collective_uses(
        pa.Table.from_pylist(rows, schema=TABLES["collectives"]),
        pa.Table.from_pylist(captured, schema=TABLES["replica_steps"]),
    )


def test_a_row_that_the_profiler_did_not_record_takes_no_bytes_away() -> None:
    """A collective that one replica took part in, all replicas of its group took part in."""
    call = {"segment": 0, "worker": 0, "op": "all-reduce", "group_size": 2, "bytes": 4_000}
    rows = [
        call | {"step": step, "replica": replica}
        for step in (5, 6, 7)
        for replica in (0, 1)
        if (step, replica) != (7, 0)
    ]
    (use,) = _uses_of_two_replicas(rows, steps=[5, 6, 7])
    assert (use.per_step, use.bytes) == (1.0, 4_000)


def test_collectives_without_a_name_are_one_kind_and_kinds_are_in_order() -> None:
    kinds = [("send", 2), (None, 2), ("all-reduce", 4), ("", 2), ("unknown", 2), ("all-reduce", 2)]
    rows = [
        {"segment": 0, "step": step, "worker": 0, "replica": 0, "op": op, "group_size": size}
        for step in (0, 1, 2)
        for op, size in kinds
    ]
    uses = _uses_of_two_replicas(rows, steps=[0, 1, 2])
    calls = [(use.op, use.group_size, use.per_step) for use in uses]
    assert calls == [
        ("all-reduce", 2, 1.0),
        ("all-reduce", 4, 1.0),
        ("send", 2, 1.0),
        ("unknown", 2, 3.0),
    ]
