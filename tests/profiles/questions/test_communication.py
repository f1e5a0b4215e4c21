"""Whose times the table of collectives has."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.analysis.collective_calls import CollectiveCall, ReplicaCall
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.key_numbers import key_numbers
from strategy_profiles.capture.reductions import LAB_MARKS
from strategy_profiles.questions.communication import communication, whose_times
from strategy_profiles.reporting import units
from tests.synthetic import write_run


def call(group_size: int | None, *replicas: int) -> CollectiveCall:
    known = tuple(ReplicaCall(replica, 1.0, 2.0) for replica in replicas)
    times = (1.0, 2.0, None, None, "measured", "derived", known)
    return CollectiveCall("gather", "concat", 1, None, group_size, 1.0, 8.0, *times)


def test_replicas_of_processes_without_ops_are_left_out_and_said() -> None:
    assert whose_times([call(4, 0, 1)], num_replicas=4).startswith(
        "Wait, transfer and bandwidths are those of replicas 0 and 1: "
    )


@pytest.mark.parametrize("group_size", [4, 5, None])
def test_a_coordinator_in_the_group_is_no_replica_without_times(group_size: int | None) -> None:
    assert whose_times([call(group_size, 0, 1, 2, 3)], num_replicas=4) == ""


def test_the_gather_of_the_labs_timestamps_is_no_collective_of_the_program(tmp_path: Path) -> None:
    options = {"replicas": 2, "steps": 60, "collective_bytes": (24, 1_000), "transfer_ms": 25.0}
    run = write_run(tmp_path / "run", **options)
    for file in run.rglob("collectives*.parquet"):
        table = pq.read_table(file)
        place = table.schema.get_field_index("op")
        sizes = table["bytes"].to_pylist()
        ops = [LAB_MARKS if size == 24 else "all-reduce" for size in sizes]
        named = pa.array(ops).cast(table.schema.field("op").type)
        pq.write_table(table.set_column(place, "op", named), file)
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    answer = communication(profile, facts)
    assert "in 1 collective (all-reduce)" in "".join(answer.sentence)
    shown = [str(answer), str(findings(facts)), str(profile.summary())]
    assert not any(LAB_MARKS in text for text in shown)


def test_wait_and_transfer_add_up_to_the_exposed_communication(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=4, steps=60, straggler=(1, 30.0))
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    wall, wait, transfer = map(facts.breakdown.mean_ms, ("wall", "wait", "transfer"))
    (exposed,) = [item for item in key_numbers(facts) if item.key == "exposed"]
    assert exposed.value == pytest.approx(wait + transfer)
    assert exposed.note == f"{units.share((wait + transfer) / wall)} of a captured step"
    said = "".join(communication(profile, facts).sentence)
    assert f"{units.share(transfer / wall)} of the step is transfer" in said
    assert f"{units.share(wait / wall)} waiting for the last replica" in said
