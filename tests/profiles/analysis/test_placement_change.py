"""What a live reconfiguration moved."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from strategy_profiles.analysis.placement_change import OpMove, placement_change
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile, load
from tests.synthetic import write_run


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Profile:
    folder = tmp_path_factory.mktemp("runs") / "run"
    return load(write_run(folder, steps=20, windows=0, segments=[{}, {"replicas": 2}, {}]))


def test_fewer_replicas_lose_their_copies_and_ops(profile: Profile) -> None:
    change = placement_change(profile, 0, 1)
    assert len(change.variables) == 3
    for move in change.variables:
        assert move.how == "fewer copies"
        assert set(move.after) < set(move.before)
    assert [item.after == 0 for item in change.ops] == [False, False, True, True]
    assert all(item.before > 0 for item in change.ops)


def test_back_again_is_the_same_the_other_way_round(profile: Profile) -> None:
    there, back = placement_change(profile, 0, 1), placement_change(profile, 1, 2)
    assert [(m.before, m.after) for m in there.variables] == [
        (m.after, m.before) for m in back.variables
    ]
    unchanged = placement_change(profile, 0, 2)
    assert {move.how for move in back.variables} == {"more copies"}
    assert unchanged.variables == ()
    assert unchanged.num_same == 3


def test_a_model_that_is_built_again_keeps_its_variables(tmp_path: Path) -> None:
    """The names count on; the tenth layer comes after the second."""
    run = write_run(tmp_path / "run", steps=20, windows=0, segments=2, placement=False)
    for segment in (0, 1):
        counters = range(11 * segment, 11 * segment + 11)
        write_variables(run, segment, [f"dense_{number}/kernel" for number in counters])
    change = placement_change(load(run), 0, 1)
    assert change.num_same == 10
    (move,) = change.variables
    assert (move.name, move.how) == ("dense_21/kernel", "moved")


def write_variables(run: Path, segment: int, names: list[str]) -> None:
    """A placement of variables alone; in segment 1 the last one sits elsewhere."""
    rows = [{"kind": "variable", "name": name, "device": "/device:CPU:0"} for name in names]
    if segment:
        rows[-1]["device"] = "/device:CPU:1"
    write_placement(run, segment, rows)


def write_placement(run: Path, segment: int, rows: list[dict[str, str]]) -> None:
    schema = TABLES["placement"]
    empty = dict.fromkeys(schema.names) | {"segment": segment, "worker": 0}
    table = pa.Table.from_pylist([empty | row for row in rows], schema=schema)
    pq.write_table(table, run / "worker-0-0" / f"placement-{segment:03d}.parquet")


def test_an_op_that_changed_device_is_named(tmp_path: Path) -> None:
    """Counters differ; `replica_1` is no counter; another type or number is no match."""
    run = write_run(tmp_path / "run", steps=20, windows=0, segments=2, placement=False)
    same = [("dense/Const", "Const", 0), ("replica_1/dense/MatMul_2", "MatMul", 1)]
    write_ops(run, 0, [*same, ("dense_1/MatMul", "MatMul", 1), ("a", "Add", 0), ("b_1", "Add", 0)])
    write_ops(
        run,
        1,
        [
            ("dense_2/Const", "Const", 0),
            ("replica_1/dense_2/MatMul_4", "MatMul", 1),
            ("dense_3/MatMul", "MatMul", 0),
            ("a", "Mul", 1),
            ("b_1", "Add", 1),
            ("b_2", "Add", 1),
        ],
    )
    change = placement_change(load(run), 0, 1)
    assert change.moved_ops == (
        OpMove("dense_3/MatMul", "MatMul", "/device:CPU:1", "/device:CPU:0"),
    )
    assert change.num_same_ops == 2
    assert change.num_unmatched == (2, 3)


def test_ops_whose_names_differ_by_counters_are_matched_in_turn(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=0, segments=2, placement=False)
    write_ops(run, 0, [("add_2", "Add", 2), ("add", "Add", 0), ("add_10", "Add", 3)])
    write_ops(run, 1, [("add_12", "Add", 2), ("add_100", "Add", 1), ("add_9", "Add", 0)])
    (move,) = placement_change(load(run), 0, 1).moved_ops
    assert (move.name, move.before, move.after) == ("add_100", "/device:CPU:3", "/device:CPU:1")


def test_ops_of_replicas_that_are_gone_are_unmatched(profile: Profile) -> None:
    change = placement_change(profile, 0, 1)
    assert change.moved_ops == ()
    assert change.num_unmatched == (change.num_same_ops, 0)
    assert sum(item.after for item in change.ops) == change.num_same_ops


def write_ops(run: Path, segment: int, ops: list[tuple[str, str, int]]) -> None:
    """A placement of ops alone: name, type and number of the CPU."""
    rows = [
        {"kind": "op", "name": name, "op": kind, "device": f"/device:CPU:{number}"}
        for name, kind, number in ops
    ]
    write_placement(run, segment, rows)


def test_no_placement_is_no_answer_and_says_which(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", steps=20, windows=0, segments=2, placement=False)
    assert placement_change(load(run), 0, 1).reason == "segment 0 recorded no placement"
