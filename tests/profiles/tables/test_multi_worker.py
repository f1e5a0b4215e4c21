"""A captured step of several workers: every replica has its row, and waits for those elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from tests.synthetic import TWO_HOSTS, write_run

PHASES = ("compute", "delay", "wait", "transfer", "input", "idle")


def load(path: Path, **options: Any) -> strategy_profiles.Profile:
    known = TWO_HOSTS | {
        "steps": 120,
        "clock_ahead_ms": (0.0, -50.0),
        "straggler": (3, 30.0),
        "collective_bytes": (2_097_152,),
    }
    return strategy_profiles.load(write_run(path / "run", **(known | options)))


def by_replica(
    profile: strategy_profiles.Profile, column: str, table: str = "replica_steps"
) -> list[Any]:
    medians = profile.sql(f"select median({column}) from {table} group by replica order by replica")
    return medians[0].to_pylist()  # type: ignore[no-any-return]


def test_ranks_without_a_capture_have_rows_from_their_marks(tmp_path: Path) -> None:
    profile = load(tmp_path)
    sources = profile.sql(
        "select replica, worker, any_value(source), count(*) from replica_steps "
        "group by all order by replica"
    )
    measured = [row.values() for row in sources.to_pylist()]
    assert [list(row) for row in measured] == [
        [0, 0, "measured", 30],
        [1, 0, "measured", 30],
        [2, 1, "marks", 30],
        [3, 1, "marks", 30],
    ]
    assert by_replica(profile, "compute_ms") == pytest.approx([20, 20, 20, 50], abs=1.0)


def test_rows_add_up_to_their_wall(tmp_path: Path) -> None:
    for row in load(tmp_path).table("replica_steps").to_pylist():
        assert sum(row[f"{phase}_ms"] for phase in PHASES) == pytest.approx(row["wall_ms"])
        assert min(row[f"{phase}_ms"] for phase in PHASES) >= 0


def test_the_leader_waits_for_the_other_worker_and_that_is_no_transfer(tmp_path: Path) -> None:
    profile = load(tmp_path)
    assert by_replica(profile, "wait_ms") == pytest.approx([30, 30, 30, 0], abs=1.0)
    assert by_replica(profile, "transfer_ms") == pytest.approx([2, 2, 2, 2], abs=0.2)
    first = profile.sql(
        "select median(wait_ms), median(transfer_ms), median(algbw_gbps), median(busbw_gbps) "
        "from collectives where instance = 1"
    )
    wait, transfer, algbw, busbw = first.to_pylist()[0].values()
    assert wait == pytest.approx(30, abs=1.0)
    assert algbw == pytest.approx(2_097_152 / transfer / 1e6, rel=0.2)
    assert busbw == pytest.approx(algbw * 1.5)


def test_without_a_common_clock_the_capture_stays_as_it_is(tmp_path: Path) -> None:
    profile = load(tmp_path, clock_measured=False)
    waits = by_replica(profile, "wait_ms")
    assert waits[:2] == pytest.approx([0, 0], abs=1.5)
    assert waits[2:] == pytest.approx([30, 0], abs=1.5)
    assert by_replica(profile, "transfer_ms")[:2] == pytest.approx([32, 32], abs=1.5)


@pytest.mark.parametrize("missing", ["replica_steps", "collectives"])
def test_a_missing_table_hides_no_other(missing: str, tmp_path: Path) -> None:
    profile = load(tmp_path, missing=(missing,))
    rows = profile.table("replica_steps").num_rows
    assert rows == (0 if missing == "replica_steps" else 30 * 4)
    assert profile.table("collectives").num_rows == (0 if missing == "collectives" else 30 * 2)


def test_a_run_without_marks_stays_as_it_is(tmp_path: Path) -> None:
    profile = load(tmp_path, marks=False)
    assert set(profile.table("replica_steps")["worker"].to_pylist()) == {0}
