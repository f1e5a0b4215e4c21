"""Known truths, recorded from real steps: a delay, bytes, placement and a deliberate copy."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from strategy_profiles.run.layout import worker_folder
from strategy_profiles.spec.run_spec import Capture, RunSpec
from strategy_profiles.tables.schema import CATEGORIES
from tests.event_records import read_records

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]

DELAY_MS = 100.0
NUM_STEPS = 14
LATE = 2
Rows = list[dict[str, Any]]


class Recorded:
    """A worker's folder, read back."""

    def __init__(self, folder: Any) -> None:
        self._folder = folder
        self.events = read_records(folder.events)
        self.windows = [e for e in self.events if e["kind"] == "window"]
        assert self.windows, [e for e in self.events if e["kind"] != "step"]
        assert [w["error"] for w in self.windows] == [None] * len(self.windows)

    def table(self, name: str) -> Rows:
        paths = [self._folder.path / w["folder"] / f"{name}.parquet" for w in self.windows]
        return [row for path in paths for row in pq.read_table(path).to_pylist()]

    def placement(self) -> Rows:
        return pq.read_table(self._folder.placement(0)).to_pylist()


def recorded(folder: Path, steps: int, **fields: Any) -> Recorded:
    """Trains through the lab's own engine and recorder."""
    from strategy_core.recorder.recorder import Recorder
    from strategy_core.training.trainer import Training

    spec = RunSpec(capture=Capture(every_step=True, window_steps=6), **fields)
    home = worker_folder(folder, 0)
    recorder = Recorder(home, capture=spec.capture)
    training = Training(spec, recorder)
    training.open()
    for _ in range(steps):
        training.run_step()
    recorder.close("finished")
    return Recorded(home)


def _by_step(rows: Rows) -> dict[int, dict[int, dict[str, Any]]]:
    steps: dict[int, dict[int, dict[str, Any]]] = {}
    for row in rows:
        steps.setdefault(row["step"], {})[row["replica"]] = row
    return steps


def _own_ms(row: dict[str, Any]) -> float:
    """A replica's ops and the delay that the lab injected into it."""
    return float(row["compute_ms"] + row["delay_ms"])


def _lateness(compute_ms: dict[int, float]) -> float:
    """How much longer the late replica computed than the others did, in milliseconds."""
    others = [length for replica, length in compute_ms.items() if replica != LATE]
    return compute_ms[LATE] - statistics.median(others)


def _waits_for_the_late_one(replicas: dict[int, dict[str, Any]], replica: int) -> bool:
    lateness_ms = _lateness({number: _own_ms(row) for number, row in replicas.items()})
    waited_ms = replicas[replica]["wait_ms"] - replicas[LATE]["wait_ms"]
    return bool(0.8 * DELAY_MS <= waited_ms <= 1.2 * max(lateness_ms, DELAY_MS))


@pytest.mark.long(keep=2)
@pytest.mark.parametrize(
    ("strategy", "algorithm"),
    [
        ("mirrored", "collective-ring"),
        ("mirrored", "reduction-to-one-device"),
        ("mirrored", "hierarchical-copy"),
        ("central-storage", "auto"),
    ],
)
def test_a_delay_is_recorded_in_the_delayed_replica_and_step(
    tmp_path: Path, strategy: str, algorithm: str
) -> None:
    run = recorded(
        tmp_path,
        NUM_STEPS,
        strategy=strategy,
        cross_device_ops=algorithm,
        devices="cpu:4",
        workload="digits-mlp",
        global_batch_size=64,
        inject=({"kind": "delay", "replica": LATE, "ms": DELAY_MS},),
    )
    rows = run.table("replica_steps")
    steps = list(_by_step(rows).values())
    assert {len(replicas) for replicas in steps} == {4}
    # A busy machine prolongs what it likes, and shortens nothing: the least is the truth.
    least_ms = {r: min(_own_ms(replicas[r]) for replicas in steps) for r in range(4)}
    assert _lateness(least_ms) == pytest.approx(DELAY_MS, rel=0.05)
    slept_ms = {r: min(replicas[r]["delay_ms"] for replicas in steps) for r in range(4)}
    assert slept_ms.pop(LATE) == pytest.approx(DELAY_MS, rel=0.05)
    assert set(slept_ms.values()) == {0.0}
    # In some steps another program makes a second replica late, which then waits less.
    for replica in set(steps[0]) - {LATE}:
        assert any(_waits_for_the_late_one(each, replica) for each in steps)
    for row in rows:
        assert sum(row[f"{phase}_ms"] for phase in CATEGORIES) == pytest.approx(
            row["wall_ms"], rel=1e-9
        )
    walls = {e["step"]: e["wall_ms"] for e in run.events if e["kind"] == "step"}
    # Two clocks and two places: the profiler's and the recorder's idea of the same step. Between
    # the two a busy machine may do something else now and then.
    ratios = [row["wall_ms"] / walls[row["step"]] for row in rows]
    assert statistics.median(ratios) == pytest.approx(1, rel=0.01)


def test_a_short_delay_is_found_within_five_percent(tmp_path: Path) -> None:
    """30 ms. What a busy machine adds to some steps, the least of many steps is without."""
    delay_ms = 30.0
    run = recorded(
        tmp_path,
        40,
        strategy="mirrored",
        devices="cpu:4",
        workload="digits-mlp",
        global_batch_size=64,
        inject=({"kind": "delay", "replica": LATE, "ms": delay_ms},),
    )
    steps = list(_by_step(run.table("replica_steps")).values())
    least_ms = {r: min(_own_ms(replicas[r]) for replicas in steps) for r in range(4)}
    assert _lateness(least_ms) == pytest.approx(delay_ms, rel=0.05)
    for replica in set(range(4)) - {LATE}:
        assert max(replicas[replica]["wait_ms"] for replicas in steps) >= 0.95 * delay_ms
    assert min(replicas[LATE]["wait_ms"] for replicas in steps) < 0.5 * delay_ms


@pytest.mark.parametrize("algorithm", ["collective-ring", "reduction-to-one-device"])
def test_all_reduced_bytes_are_those_of_the_parameters(tmp_path: Path, algorithm: str) -> None:
    run = recorded(
        tmp_path,
        8,
        strategy="mirrored",
        cross_device_ops=algorithm,
        devices="cpu:2",
        workload="digits-mlp",
        global_batch_size=64,
    )
    opened = next(e for e in run.events if e["kind"] == "segment")
    reduced = _bytes_per_step(run.table("collectives"), {"all-reduce"})
    assert reduced
    assert set(reduced.values()) == {opened["parameter_bytes"]}


def test_sparse_gradients_move_less_than_their_table(tmp_path: Path) -> None:
    run = recorded(
        tmp_path,
        8,
        strategy="mirrored",
        cross_device_ops="collective-ring",
        devices="cpu:2",
        workload="embedding",
        global_batch_size=64,
    )
    opened = next(e for e in run.events if e["kind"] == "segment")
    rows = [row for row in run.table("collectives") if row["bytes"] is not None]
    moved = _bytes_per_step(rows, {"all-reduce", "all-gather", "gather"})
    assert moved
    assert 0 < max(moved.values()) < opened["parameter_bytes"]


def _bytes_per_step(rows: Rows, ops: set[str]) -> dict[int, int]:
    """Bytes of every collective once, not once per member."""
    seen = {(r["step"], r["instance"], r["op"]): r["bytes"] for r in rows if r["op"] in ops}
    total: dict[int, int] = {}
    for (step, _instance, _op), size in seen.items():
        total[step] = total.get(step, 0) + size
    return total


def test_placement_is_the_partition_graphs_node_for_node(tmp_path: Path) -> None:
    """The same function traced twice, once by the recorder and once by hand."""
    import tensorflow as tf

    from strategy_core.recorder import placement

    strategy = tf.distribute.MirroredStrategy(
        ["/cpu:0", "/cpu:1", "/cpu:2"], tf.distribute.ReductionToOneDevice()
    )
    with strategy.scope():
        weight = tf.Variable(tf.ones([64, 64]), aggregation=tf.VariableAggregation.SUM)

    def double() -> Any:
        return weight.assign_add(tf.matmul(weight, weight) * 0.01)

    def make_step() -> Any:
        return tf.function(lambda: strategy.run(double), autograph=False)

    step = make_step()
    run = _record_program(tmp_path, strategy, step, 5)
    traced = make_step()
    placement.begin_trace()
    traced()
    metadata = placement.end_trace(tmp_path / "by-hand")
    # What runs on one device is somebody's eager op or input function: here only the step has more.
    expected = [
        (node.name, node.op, node.device)
        for function in metadata.function_graphs
        if len(function.partition_graphs) > 1
        for partition in function.partition_graphs
        for node in partition.node
    ]
    ops = [row for row in run.placement() if row["kind"] == "op"]
    devices = {row["function"]: set() for row in ops}
    for row in ops:
        devices[row["function"]].add(row["device"])
    ops = [row for row in ops if len(devices[row["function"]]) > 1]
    assert len(expected) > 50
    assert sorted((row["name"], row["op"], row["device"]) for row in ops) == sorted(expected)
    assert {row["replica"] for row in ops} == {0, 1, 2}


def test_functions_run_between_two_traces_are_in_neither_graph(tmp_path: Path) -> None:
    """TensorFlow goes on collecting when a trace is over; nodes of one name would be mixed up."""
    import tensorflow as tf

    from strategy_core.recorder import placement

    def traced(name: str) -> Any:
        return tf.function(lambda x: tf.add(x, 1.0, name=name), autograph=False)

    placement.begin_trace()
    traced("first")(tf.zeros([]))
    placement.end_trace(tmp_path / "first")
    traced("between")(tf.zeros([]))
    placement.begin_trace()
    traced("second")(tf.zeros([]))
    nodes = placement.read_nodes(placement.end_trace(tmp_path / "second"))
    names = {node.name for node in nodes}
    assert "second" in names
    assert not names & {"first", "between"}


def test_ops_and_variables_have_their_element_types(tmp_path: Path) -> None:
    import tensorflow as tf

    from strategy_core.recorder import placement

    held = tf.Variable(tf.ones([4, 4], tf.float64))

    @tf.function(autograph=False)
    def step() -> tf.Tensor:
        made = tf.random.uniform((4, 4), dtype=tf.float64, name="made")  # its T is of the shape
        product = tf.matmul(made, held, name="product")
        return tf.add(tf.cast(product, tf.float16, name="narrowed"), 1.0, name="sum")

    placement.begin_trace()
    step()
    nodes = placement.read_nodes(placement.end_trace(tmp_path / "trace"))
    dtypes = {node.name: node.dtype for node in nodes}
    (argument,) = [n.dtype for n in nodes if n.op == "_Arg" and n.name.endswith("_resource")]
    assert argument == "float64"
    assert dtypes["product"] == "float64"
    assert dtypes["sum"] == "float16"
    assert dtypes["narrowed"] is None, "from one to another"
    assert {n.dtype for n in nodes if n.op == "RandomUniform"} == {"float64"}
    path = tmp_path / "placement.parquet"
    placement.write_placement(
        nodes, [None] * len(nodes), placement.variable_rows([held]), {}, 0, 0, path
    )
    rows = pq.read_table(path).to_pylist()
    assert [r["dtype"] for r in rows if r["kind"] == "variable"] == ["float64"]
    assert {r["dtype"] for r in rows if r["op"] == "MatMul"} == {"float64"}


def test_a_deliberate_copy_is_a_transfer_with_its_bytes(tmp_path: Path) -> None:
    import tensorflow as tf

    shape = (300, 77)

    @tf.function
    def copy() -> tf.Tensor:
        with tf.device("/cpu:1"):
            made = tf.random.uniform(shape, name="made_here")
        with tf.device("/cpu:2"):
            return tf.reduce_sum(tf.square(made))

    strategy = tf.distribute.OneDeviceStrategy("/cpu:1")
    rows = _record_program(tmp_path, strategy, copy, 8).table("transfers")
    copies = [row for row in rows if row["bytes"] == 300 * 77 * 4]
    assert {row["step"] for row in copies} == set(range(2, 8))
    assert {row["send_device"][-5:] for row in copies} == {"CPU:1"}
    assert {row["recv_device"][-5:] for row in copies} == {"CPU:2"}
    assert all(row["duration_ms"] > 0 for row in copies)


def _record_program(folder: Path, strategy: Any, step: Any, steps: int) -> Recorded:
    from strategy_core import record

    capture = Capture(every_step=True, window_steps=6)
    with record(folder / "run", strategy, capture=capture) as recorder:
        for _ in range(steps):
            with recorder.step():
                step()
    return Recorded(worker_folder(folder / "run", 0))
