"""Which ops of a step compute in an element type, and how long they run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import strategy_profiles
from strategy_profiles.analysis.element_types import FLOAT16, FLOAT64, ComputedIn, computed_in
from strategy_profiles.analysis.facts import gather_facts
from strategy_profiles.analysis.findings import findings
from strategy_profiles.analysis.steps import typical_captured_steps
from strategy_profiles.tables.schema import TABLES
from strategy_profiles.tables.store import Profile
from tests.replaced import replace
from tests.synthetic import write_run

CPU_0 = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_1 = "/job:localhost/replica:0/task:0/device:CPU:1"
Find = Callable[..., ComputedIn | None]
MS = 1_000_000
NOT_CAPTURED = 10_000


def op(
    name: str, dtype: str | None, *, ms: float = 4.0, at_ms: float = 0.0, **more: Any
) -> dict[str, Any]:
    """An op of replica 0 unless `more` says otherwise, as it ran in each step."""
    usual = {"name": name, "op": name, "device": CPU_0, "replica": 0, "bytes": 4096}
    return usual | {"dtype": dtype, "ms": ms, "at_ms": at_ms, "category": "compute"} | more


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "run", replicas=2, steps=20, windows=1)


@pytest.fixture
def ops_computed_in(run: Path, monkeypatch: pytest.MonkeyPatch) -> Find:
    """What is found in a run of two replicas whose captured steps have these ops."""

    def of(*ops: dict[str, Any], dtype: str = FLOAT64) -> ComputedIn | None:
        profile = strategy_profiles.load(run)
        steps = typical_captured_steps(profile, 0).tolist()
        assert len(steps) > 1
        usual = {"segment": 0, "worker": 0}
        keys = ("name", "op", "device", "replica")
        placed = [
            usual
            | {"kind": "op", "dtype": each["dtype"], "bytes": each["bytes"]}
            | {key: each[key] for key in keys}
            for each in ops
        ]
        spans = [
            {**usual, "step": step, "start_ns": int((each["at_ms"] + 100 * step) * MS)}
            | {"duration_ns": int(each["ms"] * MS), "category": each["category"]}
            | {key: each[key] for key in keys}
            for each in ops
            for step in (*steps, NOT_CAPTURED)
        ]
        made = {
            name: pa.Table.from_pylist(rows, TABLES[name])
            for name, rows in (("placement", placed), ("spans", spans))
        }
        real = Profile.table
        monkeypatch.setattr(
            Profile, "table", lambda self, name: made[name] if name in made else real(self, name)
        )
        monkeypatch.setattr(
            Profile, "columns", lambda _self, name, wanted: made[name].select(list(wanted))
        )
        return computed_in(profile, dtype, 0)

    return of


def test_ops_that_run_at_once_count_once(ops_computed_in: Find) -> None:
    in_float64 = ops_computed_in(
        op("MatMul", "float64", ms=4.0),
        op("Add", "float64", ms=3.0, at_ms=2.0),
        op("Mul", "float32", ms=9.0),
        op("Relu", "float32", replica=1, device=CPU_1),
    )
    assert in_float64 is not None
    assert in_float64.ms == pytest.approx(5.0 / 2), "5 ms in one of two replicas"
    assert (in_float64.op, in_float64.name, in_float64.num_ops) == ("MatMul", "MatMul", 2)
    assert in_float64.op_ms == pytest.approx(4.0)


def test_each_element_type_is_counted_by_itself(ops_computed_in: Find) -> None:
    both = op("MatMul", "float64"), op("Add", "float16", ms=1.0)
    assert ops_computed_in(*both, dtype=FLOAT16) == ComputedIn(1.0, "Add", "Add", 1.0, 1)
    assert ops_computed_in(*both, dtype=FLOAT64) == ComputedIn(4.0, "MatMul", "MatMul", 4.0, 1)


@pytest.mark.parametrize(
    "ops",
    [
        (op("MatMul", "float32"),),
        (op("MatMul", None),),
        (op("MatMul", "float64", category="delay"),),
        (op("Add", "float64", replica=None), op("MatMul", "float32")),
        (op("Pack", "float64", bytes=16), op("_Retval", "float64", bytes=None)),
    ],
    ids=["float32", "unknown", "no computation", "of no replica", "bookkeeping"],
)
def test_ops_that_compute_nothing_in_float64_do_not_count(
    ops: tuple[dict[str, Any], ...], ops_computed_in: Find
) -> None:
    assert ops_computed_in(*ops) is None


def test_a_name_that_two_graphs_give_to_ops_of_two_types_does_not_count(
    ops_computed_in: Find,
) -> None:
    both = op("MatMul", "float64"), op("MatMul", "float32", ms=0.0)
    assert ops_computed_in(*both) is None
    assert ops_computed_in(*both, op("Add", "float64")) == ComputedIn(4.0, "Add", "Add", 4.0, 1)


def test_an_op_of_unknown_size_counts(ops_computed_in: Find) -> None:
    in_float64 = ops_computed_in(op("MatMul", "float64", bytes=None))
    assert in_float64 is not None
    assert in_float64.op == "MatMul"


def test_the_same_name_on_another_device_is_another_op(ops_computed_in: Find) -> None:
    in_float64 = ops_computed_in(
        op("MatMul", "float64", ms=2.0),
        op("MatMul", "float32", ms=8.0, device=CPU_1, replica=1),
    )
    assert in_float64 is not None
    assert in_float64.ms == pytest.approx(1.0)


def test_a_run_of_an_earlier_version_has_no_types(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", replicas=2, steps=20, windows=1)
    (path,) = run.glob("**/placement-*.parquet")
    pq.write_table(pq.read_table(path).drop_columns(["dtype"]), path)
    profile = strategy_profiles.load(run)
    types = profile.table("placement")["dtype"]
    assert types.null_count == len(types) > 0
    assert computed_in(profile, FLOAT64, 0) is None


@pytest.mark.parametrize(("share", "is_reported"), [(0.0, False), (0.05, False), (0.2, True)])
def test_only_a_tenth_of_a_step_or_more_is_a_finding(
    share: float, is_reported: bool, run: Path
) -> None:
    profile = strategy_profiles.load(run)
    facts = gather_facts(profile, profile.segments[0])
    wall = facts.breakdown.mean_ms("wall")
    assert wall is not None
    ran = ComputedIn(share * wall, "MatMul", "dense/" * 30 + "MatMul", 1.0, 1)
    float64_findings = [
        each for each in findings(replace(facts, float64=ran)) if each.key == "float64"
    ]
    assert bool(float64_findings) == is_reported
    if float64_findings:
        assert float64_findings[0].cost is not None
        steps = facts.account.row("loop/steps")
        assert float64_findings[0].cost.share == pytest.approx(share * facts.account.share(steps))
        assert "is spent in ops that compute in float64" in float64_findings[0].sentence
        assert len(float64_findings[0].sentence) < 250, "a long name is cut"
