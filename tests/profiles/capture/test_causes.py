"""What held up a step, from hand-drawn captures: only time in which no replica ran counts."""

from __future__ import annotations

from typing import Any

from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.graph import Graph, Node
from strategy_profiles.capture.joined import join
from strategy_profiles.capture.python_samples import PythonSamples
from tests.profiles.capture.xspace_builder import EPOCH_NS, CaptureBuilder

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
NODES = [
    Node(0, 0, "matmul", "MatMul", DEVICE, ()),
    Node(1, 0, "EagerPyFunc", "EagerPyFunc", DEVICE, ()),
    Node(2, 0, "rnn/while/body/_1/rnn/while/add", "AddV2", DEVICE, ()),
    Node(3, 0, "PrintV2", "PrintV2", DEVICE, ()),
    Node(4, 0, "print_again", "PrintV2", DEVICE, ()),
    Node(5, 0, "other/EagerPyFunc", "EagerPyFunc", DEVICE, ()),
]
MS = 1_000_000


def _causes(capture: CaptureBuilder, samples: PythonSamples | None = None) -> list[dict[str, Any]]:
    joined = join(xspace.decode(capture.serialized()), Graph(NODES, [DEVICE]))
    rows: list[dict[str, Any]] = to_tables(joined, WindowOf(0, 0), samples)["causes"].to_pylist()
    return rows


def _step(number: int = 7) -> CaptureBuilder:
    """100 ms, of which the replica computes the last 10."""
    capture = CaptureBuilder()
    capture.step(number, 0, 100 * MS)
    capture.add("matmul:MatMul", 90 * MS, 100 * MS)
    return capture


def test_tracing_is_named_after_the_function_that_is_new() -> None:
    capture = _step()
    capture.add("tf.function-graph_building", 10 * MS, 60 * MS)
    capture.add("EagerLocalExecute: __inference_train_step_505", 60 * MS, 100 * MS)
    row = next(row for row in _causes(capture) if row["kind"] == "tracing")
    assert (row["name"], row["step"]) == ("train_step", 7)
    assert (row["count"], row["total_ms"], row["held_ms"]) == (1, 50.0, 50.0)


def test_tracing_beside_a_replica_that_runs_holds_nothing_up() -> None:
    capture = _step()
    capture.add("tf.function-graph_building", 80 * MS, 100 * MS)
    (row,) = _causes(capture)
    assert (row["total_ms"], row["held_ms"]) == (20.0, 10.0)


def test_the_stage_that_limits_is_the_deepest_at_work_while_the_step_waits() -> None:
    capture = _step()
    capture.add("IteratorGetNextOp::DoCompute", 0, 80 * MS)
    capture.add("Iterator::Root::Prefetch", 0, 80 * MS)
    capture.add("Iterator::Root::Prefetch::FlatMap[3]::Generator", -20 * MS, 70 * MS, "other")
    stages = {row["name"]: row["held_ms"] for row in _causes(capture)}
    assert stages == {
        "Iterator::Root::Prefetch::FlatMap::Generator": 70.0,
        "Iterator::Root::Prefetch": 10.0,
    }


def test_a_stage_that_works_ahead_of_the_step_holds_nothing_up() -> None:
    capture = _step()
    capture.add("Iterator::Root::Prefetch::FlatMap[0]::Generator", 0, 100 * MS, "other")
    assert _causes(capture) == []


def test_a_wait_for_a_batch_inside_the_step_is_input() -> None:
    capture = _step()
    capture.add("IteratorGetNextOp::DoCompute", 0, 80 * MS)
    joined = join(xspace.decode(capture.serialized()), Graph(NODES, [DEVICE]))
    (row,) = to_tables(joined, WindowOf(0, 0))["replica_steps"].to_pylist()
    assert (row["input_ms"], row["compute_ms"], row["idle_ms"]) == (80.0, 10.0, 10.0)


def test_samples_of_python_count_for_the_time_before_them() -> None:
    at_ms = (5, 10, 50, 95)
    places = [["call", "train.py:3", "step(batch)"], ["python", "train.py:9", "score(loss)"]]
    samples = PythonSamples([EPOCH_NS + at * MS for at in at_ms], [0, 0, 1, 0], places)
    held = {
        row["name"]: (row["kind"], row["detail"], row["held_ms"])
        for row in _causes(_step(), samples)
    }
    assert held["train.py:9"] == ("python", "score(loss)", 40.0)
    # From 5 to 10, and from 50 to 90: then the replica computes.
    kind, _line, held_ms = held["train.py:3"]
    assert kind == "call"
    assert round(held_ms, 3) == 45.0


def test_samples_in_the_runtime_are_divided_as_those_of_the_calls_python_before_it() -> None:
    places = [
        ["execute", "train.py:3", "step(batch)"],
        ["collective-key", "train.py:3", "step(batch)"],
        ["call", "train.py:3", "step(batch)"],
        ["execute", "train.py:8", "check(batch)"],
    ]
    at_ms = (0, 30, 40, 80, 88)
    samples = PythonSamples([EPOCH_NS + at * MS for at in at_ms], [2, 1, 2, 0, 3], places)
    held: dict[tuple[str, str], float] = {}
    for row in _causes(_step(), samples):
        key = row["kind"], row["name"]
        held[key] = held.get(key, 0.0) + row["held_ms"]
    assert {key: round(ms) for key, ms in held.items()} == {
        ("collective-key", "train.py:3"): 30 + 30,
        ("call", "train.py:3"): 10 + 10,
        ("call", "train.py:8"): 8,
    }


def test_a_step_in_which_xla_compiles_has_the_time_once_and_the_functions_name() -> None:
    capture = _step()
    capture.add("EagerLocalExecute: __inference_train_step_167", 0, 95 * MS)
    capture.add("CpuCompiler::CompileCpuExecutable", 10 * MS, 80 * MS)
    capture.add("CpuCompiler::RunBackend", 10 * MS, 70 * MS)
    causes = {row["kind"]: row for row in _causes(capture)}
    assert (causes["compiling"]["name"], causes["compiling"]["held_ms"]) == ("train_step", 70.0)


def test_an_op_that_runs_python_is_a_cause_with_its_duration() -> None:
    capture = _step()
    capture.add("EagerPyFunc:EagerPyFunc", 20 * MS, 50 * MS)
    (row,) = _causes(capture)
    assert (row["kind"], row["name"], row["held_ms"]) == ("python-op", "EagerPyFunc", 30.0)
    assert row["replica"] == 0


def test_ops_that_run_python_at_the_same_time_add_up_to_what_the_step_spends_in_python() -> None:
    """They wait for each other, so that their durations together are longer than that."""
    capture = _step()
    capture.add("EagerPyFunc:EagerPyFunc", 20 * MS, 50 * MS)
    capture.add("other/EagerPyFunc:EagerPyFunc", 25 * MS, 70 * MS)
    rows = _causes(capture)
    assert sorted(row["held_ms"] for row in rows) == [20.0, 30.0]
    assert sorted(row["total_ms"] for row in rows) == [30.0, 45.0]


def test_a_sample_says_nothing_of_the_other_side_of_a_steps_end() -> None:
    capture = CaptureBuilder()
    capture.step(7, 0, 100 * MS)
    capture.step(8, 140 * MS, 200 * MS)
    places = [["call", "train.py:3", "step(batch)"], ["python", "train.py:4", "save()"]]
    at_ms = (2, 40, 80, 120, 160)  # 120 is between the steps
    samples = PythonSamples([EPOCH_NS + at * MS for at in at_ms], [0, 0, 0, 1, 0], places)
    held = {(row["step"], row["kind"]): row["held_ms"] for row in _causes(capture, samples)}
    assert held.keys() == {(7, "call"), (8, "between-steps"), (8, "call")}
    assert round(held[8, "between-steps"]) == 40
    assert round(held[7, "call"]) == 98
    assert round(held[8, "call"]) == 20


def test_python_in_a_function_of_the_input_is_a_cause_while_the_step_waits() -> None:
    capture = _step()
    capture.add("IteratorGetNextOp::DoCompute", 0, 80 * MS)
    capture.add("Iterator::Root::MapAndBatch", 0, 80 * MS, "other")
    capture.add("decode:EagerPyFunc", -10 * MS, 60 * MS, "other")
    causes = {row["kind"]: row for row in _causes(capture)}
    row = causes["input-python"]
    assert (row["name"], row["detail"], row["held_ms"]) == ("decode", "EagerPyFunc", 60.0)
    assert "python-op" not in causes, "it is no op of the step"


def test_python_in_a_function_of_the_input_is_a_cause_while_calls_hold_up_the_step() -> None:
    """Prefetch hides it: the step does not wait for its batch."""
    capture = _step()
    capture.add("decode:EagerPyFunc", -10 * MS, 60 * MS, "other")
    places = [["call", "train.py:3", "step(batch)"], ["python", "train.py:9", "score(loss)"]]
    at_ms = (1, 40, 80)  # calls to 40 ms, the program's own Python to 80 ms
    samples = PythonSamples([EPOCH_NS + at * MS for at in at_ms], [0, 0, 1], places)
    causes = {row["kind"]: row for row in _causes(capture, samples)}
    row = causes["input-python-ahead"]
    assert (row["name"], row["detail"]) == ("decode", "EagerPyFunc")
    assert round(row["held_ms"]) == round(causes["call"]["held_ms"]) == 39
    assert "input-python" not in causes


def _in_a_loop(num_ops: int) -> CaptureBuilder:
    """A call of 90 ms, with ops of 1 ms and gaps of 1 ms after its first 10 ms."""
    capture = CaptureBuilder()
    capture.step(7, 0, 100 * MS)
    capture.add("EagerLocalExecute: __inference_train_step_505", 5 * MS, 95 * MS)
    for at in range(num_ops):
        begin = (10 + 2 * at) * MS
        capture.add("rnn/while/body/_1/rnn/while/add:AddV2", begin, begin + MS)
    return capture


def test_the_time_between_the_ops_of_a_call_is_the_runtimes_and_not_pythons() -> None:
    places = [["call", "train.py:3", "step(batch)"]]
    samples = PythonSamples([EPOCH_NS + at * MS for at in (1, 50, 100)], [0, 0, 0], places)
    causes = {row["kind"]: row for row in _causes(_in_a_loop(20), samples)}
    row = causes["between-ops"]
    assert (row["name"], row["count"], row["held_ms"]) == ("rnn/while", 20, 90.0 - 20.0)
    # The call takes from 5 to 95 ms; samples begin at 1 ms.
    assert round(causes["call"]["held_ms"]) == 4 + 5


def test_a_loop_whose_ops_are_not_recorded_is_named_from_the_graph() -> None:
    capture = _in_a_loop(0)
    capture.add("matmul:MatMul", 80 * MS, 85 * MS)
    (row,) = _causes(capture)
    assert (row["kind"], row["name"], row["count"]) == ("between-ops", "rnn/while", None)
    assert row["held_ms"] == 90.0 - 5.0


def test_without_a_call_of_a_function_nothing_is_between_its_ops() -> None:
    capture = CaptureBuilder()
    capture.step(7, 0, 100 * MS)
    for at in (10, 50):
        capture.add("matmul:MatMul", at * MS, (at + 1) * MS)
    assert _causes(capture) == []


def test_ops_that_print_are_one_cause_per_type_and_device() -> None:
    capture = _step()
    capture.add("PrintV2:PrintV2", 20 * MS, 30 * MS)
    capture.add("print_again:PrintV2", 40 * MS, 45 * MS)
    (row,) = _causes(capture)
    assert (row["kind"], row["name"], row["replica"]) == ("debugging-op", "PrintV2", 0)
    assert (row["count"], row["held_ms"]) == (2, 15.0)
