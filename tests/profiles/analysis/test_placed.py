"""What a placement says: variables away from all replicas, and sparse gradients made dense."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import strategy_profiles
from strategy_profiles.analysis.placed import CopiedVariables, Placed, placed
from strategy_profiles.capture.graph import Node, write_graph
from strategy_profiles.run.layout import WorkerFolder
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile
from tests.synthetic import write_run

CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
CPU_7 = "/job:localhost/replica:0/task:0/device:CPU:7"
TABLE_BYTES = 2_560_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run", replicas=2, steps=20, windows=1)


def placed_of(
    run: Path,
    monkeypatch: pytest.MonkeyPatch,
    *rows: dict[str, Any],
    transfers: Sequence[dict[str, Any]] = (),
) -> Placed:
    """The answer for a run with these placement rows, and a span of each op that takes 2 ms."""
    profile = strategy_profiles.load(run)
    step = profile.table("steps")["step"][5].as_py()
    usual = {"segment": 0, "worker": 0, "replica": 0}
    spans = [
        {**usual, "step": step, "duration_ns": 2_000_000, "start_ns": 0}
        | {key: row[key] for key in ("name", "op", "device")}
        for row in rows
        if row["kind"] == "op"
    ]
    made = {
        "placement": pa.Table.from_pylist([usual | row for row in rows], TABLES["placement"]),
        "spans": pa.Table.from_pylist(spans, TABLES["spans"]),
        "transfers": pa.Table.from_pylist(
            [usual | {"step": step} | each for each in transfers], TABLES["transfers"]
        ),
    }
    real = Profile.table
    monkeypatch.setattr(
        Profile, "table", lambda self, name: made[name] if name in made else real(self, name)
    )
    monkeypatch.setattr(
        Profile, "columns", lambda _self, name, wanted: made[name].select(list(wanted))
    )
    return placed(profile, profile.segments[0])


def variable(device: str, size: int = TABLE_BYTES) -> dict[str, Any]:
    return {"kind": "variable", "name": "table", "device": device, "bytes": size}


def dense(size: int | None) -> dict[str, Any]:
    op = "UnsortedSegmentSum"
    return {"kind": "op", "name": f"clip/{op}", "op": op, "device": CPU_0, "bytes": size}


def test_an_op_with_the_output_of_a_variables_size_makes_its_gradient_dense(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = placed_of(run, monkeypatch, variable(CPU_0), dense(TABLE_BYTES))
    (gradient,) = placed.dense_gradients
    assert (gradient.op, gradient.bytes) == ("clip/UnsortedSegmentSum", TABLE_BYTES)
    assert gradient.ms == pytest.approx(2.0)
    assert not placed.off_device.variables


@pytest.mark.parametrize(("rows", "is_found"), [(0.1, True), (0.96, False), (None, True)])
def test_a_gradient_of_most_rows_is_no_sparse_one(
    run: Path, monkeypatch: pytest.MonkeyPatch, rows: float | None, is_found: bool
) -> None:
    size = None if rows is None else int(rows * TABLE_BYTES)
    graph = WorkerFolder(run / "worker-0-0", 0, 0).graph(0)
    scatter = dense(TABLE_BYTES)["name"]
    nodes = [
        Node(0, 0, "rows", "Reshape", CPU_0, (), bytes=size),
        Node(1, 0, scatter, "UnsortedSegmentSum", CPU_0, ("rows",), bytes=TABLE_BYTES),
    ]
    before = graph.read_bytes() if graph.exists() else None
    write_graph(nodes, graph)
    try:
        placed = placed_of(run, monkeypatch, variable(CPU_0), dense(TABLE_BYTES))
    finally:
        graph.unlink() if before is None else graph.write_bytes(before)
    assert bool(placed.dense_gradients) == is_found


def test_other_ops_on_all_of_the_variable_are_counted_except_those_that_a_step_needs(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {"kind": "op", "device": CPU_0, "bytes": TABLE_BYTES}
    others = [{**made, "op": op, "name": f"penalty/{op}"} for op in ("Square", "Mul", "MatMul")]
    placed = placed_of(run, monkeypatch, variable(CPU_0), dense(TABLE_BYTES), *others)
    (gradient,) = placed.dense_gradients
    assert gradient.others_ms == pytest.approx(2 * 2.0)


@pytest.mark.parametrize("size", [None, 1000, TABLE_BYTES // 2])
def test_other_sums_over_segments_are_the_programs_own(
    run: Path, monkeypatch: pytest.MonkeyPatch, size: int | None
) -> None:
    assert placed_of(run, monkeypatch, variable(CPU_0), dense(size)).dense_gradients == ()


def test_a_large_variable_on_a_device_without_a_replica_is_away(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = (variable(CPU_0), variable(CPU_7), variable(CPU_7, 8))
    (away,) = placed_of(run, monkeypatch, *rows).off_device.variables
    assert (away.device, away.bytes) == (CPU_7, TABLE_BYTES)


def test_a_variable_away_that_is_named_after_an_op_is_named_by_the_line_that_reads_it(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = {
        **{"kind": "op", "name": "Read/ReadVariableOp", "op": "ReadVariableOp"},
        **{"device": CPU_7, "bytes": TABLE_BYTES, "source_line": "/home/me/train.py:42"},
    }
    rows = (variable(CPU_0), {**variable(CPU_7), "name": "read"}, read)
    (away,) = placed_of(run, monkeypatch, *rows).off_device.variables
    assert (away.name, away.read_at) == ("read", "train.py:42")


def copy(device: str, start_ms: float, ms: float, size: int = TABLE_BYTES) -> dict[str, Any]:
    ends = {"send_device": CPU_7, "recv_device": device}
    return ends | {"bytes": size, "start_ns": int(start_ms * 1e6), "duration_ms": ms}


def test_copies_of_a_variable_that_is_away_count_for_the_replica_that_waits_longest(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies at one time count once, and other tensors from that device do not."""
    sent = [copy(CPU_0, 0, 2), copy(CPU_0, 1, 2), copy(CPU_1, 0, 2.5), copy(CPU_1, 5, 9, 4096)]
    placed = placed_of(run, monkeypatch, variable(CPU_7), transfers=sent)
    assert placed.off_device.longest_ms == pytest.approx(3.0)
    placed = placed_of(run, monkeypatch, variable(CPU_7), transfers=sent[3:])
    assert placed.off_device.longest_ms is None


def read(name: str, device: str, size: int = TABLE_BYTES) -> dict[str, Any]:
    return {"kind": "op", "name": name, "op": "ReadVariableOp", "device": device, "bytes": size}


def test_a_variable_that_a_replica_reads_from_the_device_of_another_is_lent(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small one costs nothing, and other tensors between replicas are not variables."""
    reads = (read("table/ReadVariableOp", CPU_1), read("seed/ReadVariableOp", CPU_1, 8))
    ways = (("table/ReadVariableOp", TABLE_BYTES), ("seed/ReadVariableOp", 8), ("sum", TABLE_BYTES))
    sent = [
        copy(CPU_0, 3 * at, 2, size) | {"send_device": CPU_1, "tensor": tensor}
        for at, (tensor, size) in enumerate(ways)
    ]
    placed = placed_of(run, monkeypatch, *reads, transfers=sent)
    (lent,) = placed.lent.variables
    assert (lent.name, lent.device, lent.bytes) == ("table/ReadVariableOp", CPU_1, TABLE_BYTES)
    assert placed.lent.ms_of == {0: pytest.approx(2.0), 1: 0.0}
    placed = placed_of(run, monkeypatch, *reads, transfers=sent[1:])
    assert placed.lent == CopiedVariables()


def test_what_a_replica_reads_itself_is_its_own_copy(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`tf.debugging.enable_check_numerics` checks what replica 1 reads on another device."""
    name = "replica_1/dense/ReadVariableOp"
    sent = [copy(CPU_0, 0, 2) | {"send_device": CPU_1, "tensor": name}]
    placed = placed_of(run, monkeypatch, read(name, CPU_1), transfers=sent)
    assert placed.lent == CopiedVariables()


def argument(name: str, device: str, size: int = TABLE_BYTES) -> dict[str, Any]:
    return {"kind": "op", "name": name, "op": "_Arg", "device": device, "bytes": size}


def test_what_the_step_takes_from_outside_is_copied_to_the_replica_that_is_elsewhere(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch of each replica is on its own device; the argument of a variable is a handle."""
    takes = [
        argument("gatherv2_params", CPU_0),
        argument("batch_1", CPU_1),
        argument("seed", CPU_0, 8),
        argument("readvariableop_resource", CPU_0),
    ]
    sent = [
        copy(CPU_1, 3 * at, 2, take["bytes"]) | {"send_device": CPU_0, "tensor": take["name"]}
        for at, take in enumerate(takes)
        if take["device"] == CPU_0
    ]
    placed = placed_of(run, monkeypatch, *takes, transfers=sent)
    assert [each.name for each in placed.taken.variables] == ["gatherv2_params"]
    assert placed.taken.ms_of == {0: 0.0, 1: pytest.approx(2.0)}
    assert placed.lent == CopiedVariables()
    assert placed_of(run, monkeypatch, *takes, transfers=sent[1:]).taken == CopiedVariables()


def test_without_a_placement_nothing_is_found(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert placed_of(run, monkeypatch) == Placed()
