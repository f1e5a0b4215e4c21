"""What the host does in a step: its waits for batches, its own Python, and its calls of functions.

Steps are drawn as a capture would have recorded them: an event is its name, when it starts and how
long it takes, in ms.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from strategy_profiles.capture.graph import Graph, Node
from strategy_profiles.step_graph.build import StepBuilder
from strategy_profiles.step_graph.graph import StepGraph
from strategy_profiles.step_graph.recording import Recording, StepRows
from strategy_profiles.tables.schema import TABLES
from strategy_replay.engine.edits import Faster, InputFree
from strategy_replay.engine.replays import Replays, replay_graphs
from strategy_replay.engine.what_if import predict
from tests.plugins.replay.drawn_steps import two_replicas

MS = 1_000_000
DEVICES = ["/device:CPU:0", "/device:CPU:1"]
NUM_STEPS = 6
TAKE, WAIT = "strategy-lab input", "EagerLocalExecute: IteratorGetNext"
WAIT_INSIDE, TAKEN = "IteratorGetNextOp::DoCompute", "EagerLocalExecute: OptionalGetValue"
Drawn = tuple[str, float, float]
Op = tuple[str, int, float, float]
"""Name of an op, its replica, when it starts and how long it takes."""


def graphs_of(
    wall_ms: float, host: list[Drawn], ops: list[Op], inputs: dict[str, str]
) -> tuple[Recording, list[StepGraph]]:
    """Return equal steps of one function with a copy of each op per replica.

    `inputs` names what each op waits for; `Read` takes a batch inside of the function.
    """
    names = list(dict.fromkeys([*(name for name, *_ in ops), *inputs.values()]))
    nodes: list[Node] = []
    for device in DEVICES:
        for name in names:
            kind = "IteratorGetNext" if name == "Read" else "MatMul"
            awaited = (inputs[name],) if name in inputs else ()
            nodes.append(Node(len(nodes), 0, name, kind, device, awaited))
    bounds = {step: (0, round(wall_ms * MS)) for step in range(NUM_STEPS)}
    recording = Recording(
        two_replicas(DEVICES), Graph(nodes, DEVICES), tuple(bounds), bounds, np.inf
    )
    blank = dict.fromkeys(TABLES["spans"].names)
    rows = [
        blank | {"name": name, "category": "input", "start_ns": start, "duration_ns": length}
        for name, start, length in host
    ] + [
        blank
        | {"name": name, "op": "MatMul", "category": "compute", "start_ns": start}
        | {"duration_ns": length, "replica": replica, "device": DEVICES[replica]}
        | {"thread": 1 + replica}
        for name, replica, start, length in ops
    ]
    for row in rows:
        row["start_ns"] = round(row["start_ns"] * MS)
        row["duration_ns"] = round(row["duration_ns"] * MS)
    spans = pa.Table.from_pylist(rows, TABLES["spans"].empty_table().schema)
    tables: StepRows = {"spans": dict.fromkeys(bounds, spans), "transfers": {}, "collectives": {}}
    builder = StepBuilder(recording, tables)
    return recording, [builder.build(step) for step in bounds]


def known_of(wall_ms: float, host: list[Drawn], ops: list[Op], inputs: dict[str, str]) -> Replays:
    recording, graphs = graphs_of(wall_ms, host, ops, inputs)
    return Replays(recording, replay_graphs(graphs, np.inf))


@pytest.fixture
def of_fit() -> Replays:
    """Keras `fit` asks inside of its function, 3 ms after the step's start, for each replica.

    Replica 1 gets its batch after 40 ms, replica 0 one ms later. 4 ms of ops follow, and the host
    looks 1 ms later at what it got. The step ends 1 ms after that.
    """
    host = [(WAIT_INSIDE, 3, 41), (WAIT_INSIDE, 3, 40), (TAKEN, 49, 0.05)]
    ops = [
        ("Variable", 0, 3.0, 0.1),
        ("Variable", 1, 3.0, 0.1),
        ("Pass", 0, 44.0, 4.0),
        ("Pass", 1, 43.0, 4.0),
    ]
    return known_of(50, host, ops, {"Pass": "Read"})


@pytest.fixture
def of_two_calls() -> Replays:
    """A step that twice takes a batch and calls the function: 10 ms of wait, then 5 ms of ops.

    Taking a batch needs 1 ms of Python before the wait and 1 ms after it, the call another ms.
    """
    host: list[Drawn] = []
    ops: list[Op] = []
    for start in (0.0, 18.0):
        host += [(TAKE, start, 12), (WAIT, start + 1, 10)]
        ops += [("Pass", replica, start + 13, 5) for replica in (0, 1)]
    return known_of(36, host, ops, {})


def test_a_replica_goes_on_when_its_own_batch_is_there(of_fit: Replays) -> None:
    graph = of_fit.middle.graph
    nodes = graph.nodes
    assert nodes.end_ns[graph.is_wait_for_batch].tolist() == [43 * MS, 44 * MS]
    ends = {
        int(nodes.replica[at]): max(nodes.end_ns[each] for each in graph.waits_for[at])
        for at in range(len(nodes))
        if nodes.name[at] == "Pass"
    }
    assert ends == {0: 44 * MS, 1: 43 * MS}


def test_with_input_for_free_the_hosts_python_before_its_request_stays(of_fit: Replays) -> None:
    prediction = predict(of_fit, [InputFree(recovered=0.0)])
    assert prediction.measured_ms == pytest.approx(50)
    assert prediction.replay_error == pytest.approx(0.0, abs=1e-9)
    assert prediction.predicted_ms == pytest.approx(3 + 0.1 + 4 + 2)


def test_the_end_of_a_fit_step_waits_for_its_ops(of_fit: Replays) -> None:
    prediction = predict(of_fit, [Faster("compute", np.inf)])
    assert prediction.predicted_ms == pytest.approx(46)


def test_with_input_for_free_the_python_of_taking_a_batch_stays(of_two_calls: Replays) -> None:
    prediction = predict(of_two_calls, [InputFree(recovered=0.0)])
    assert prediction.replay_error == pytest.approx(0.0, abs=1e-9)
    assert prediction.predicted_ms == pytest.approx(36 - 2 * 10)


def test_the_next_batch_of_a_step_is_taken_once_the_call_has_returned(
    of_two_calls: Replays,
) -> None:
    prediction = predict(of_two_calls, [Faster("compute", np.inf)])
    assert prediction.predicted_ms == pytest.approx(36 - 2 * 5)
