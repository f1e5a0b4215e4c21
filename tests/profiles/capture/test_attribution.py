"""Steps drawn by hand, with the breakdown that they must have."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategy_profiles.capture import xspace
from strategy_profiles.capture.convert import WindowOf, to_tables
from strategy_profiles.capture.graph import XLA_CALL, Graph, Node
from strategy_profiles.capture.joined import join
from tests.profiles.capture.xspace_builder import EPOCH_NS, CaptureBuilder
from tests.replaced import replace

DEVICES = [
    "/job:localhost/replica:0/task:0/device:CPU:0",
    "/job:localhost/replica:0/task:0/device:CPU:1",
]


def _nodes(*given: Node) -> list[Node]:
    return [replace(node, index=index) for index, node in enumerate(given)]


def _node(name: str, op: str, device: int, *inputs: str, **more: Any) -> Node:
    return Node(0, 0, name, op, DEVICES[device], inputs, **more)


def _edge(name: str, op: str, source: int, target: int, *inputs: str, size: int = 400) -> Node:
    ends = {"tensor": name.split("/", maxsplit=1)[0], "send_device": DEVICES[source]}
    device = source if op == "_Send" else target
    return _node(name, op, device, *inputs, recv_device=DEVICES[target], bytes=size, **ends)


def _tables(capture: CaptureBuilder, nodes: list[Node]) -> dict[str, list[dict[str, Any]]]:
    joined = join(xspace.decode(capture.serialized()), Graph(nodes, DEVICES))
    return {name: table.to_pylist() for name, table in to_tables(joined, WindowOf(3, 1)).items()}


def test_each_core_of_a_replica_is_split_and_their_union_is_the_replicas() -> None:
    """The two devices as the cores of one replica: core 0 waits while core 1 computes."""
    graph = Graph(REDUCTION, DEVICES[:1], [DEVICES])
    joined = join(xspace.decode(_late_sender().serialized()), graph)
    tables = to_tables(joined, WindowOf(0, 0))
    cores = tables["core_steps"].to_pylist()
    assert [(row["replica"], row["core"], row["device"]) for row in cores] == [
        (0, 0, DEVICES[0]),
        (0, 1, DEVICES[1]),
    ]
    assert [_phases(row)["compute"] for row in cores] == [70, 640]
    assert _phases(cores[0])["wait"] == 500 + 130
    (replica,) = tables["replica_steps"].to_pylist()
    assert replica["device"] == DEVICES[0]
    assert _phases(replica) == {
        "compute": 540 + 30 + 100,  # b, the sum, its use; a lies within b
        "wait": 10 + 10,  # core 1 until the sum is sent at 660; core 0 from 690 until `use`
        "transfer": 20 + 30,  # b to core 0, the sum to core 1
        "input": 50,
        "idle": 1000 - 670 - 20 - 50 - 50,
    }


def _whole_function(devices: list[str]) -> list[dict[str, Any]]:
    """A step that is one call of a function with `jit_compile=True`, of which there is no graph."""
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    capture.add("__inference_train_step_44:__inference_train_step_44", 100, 700)
    capture.add("MatMul:MatMul", 800, 900)
    joined = join(xspace.decode(capture.serialized()), Graph([], devices))
    return to_tables(joined, WindowOf(0, 0))["replica_steps"].to_pylist()


def test_a_step_that_xla_compiles_as_a_whole_computes_on_the_only_replica() -> None:
    (row,) = _whole_function(DEVICES[:1])
    assert row["device"] == DEVICES[0]
    assert _phases(row) == {"compute": 600, "wait": 0, "transfer": 0, "input": 0, "idle": 400}
    assert _whole_function(DEVICES) == [], "which of two replicas ran it is not known"


def test_a_replica_of_one_device_has_no_cores() -> None:
    assert _tables(_late_sender(), REDUCTION)["core_steps"] == []


def _phases(row: dict[str, Any]) -> dict[str, int]:
    names = ("compute", "wait", "transfer", "input", "idle")
    return {name: round(row[f"{name}_ms"] * 1e6) for name in names}


REDUCTION = _nodes(
    _node("a", "Mul", 0),
    _node("b", "Mul", 1),
    _edge("b/_1", "_Send", 1, 0, "b"),
    _edge("b/_2", "_Recv", 1, 0),
    _node("small", "Identity", 0, "b/_2"),
    _node("sum", "AddN", 0, "a", "small", bytes=400),
    _edge("sum/_3", "_Send", 0, 1, "sum"),
    _edge("sum/_4", "_Recv", 0, 1),
    _node("use", "Sub", 1, "sum/_4"),
)
"""Two replicas reduce to device 0, and device 1 gets the sum back."""


def _late_sender() -> CaptureBuilder:
    """Replica 1 is late by 500 ns; its tensor takes 20, the sum's way back 30."""
    capture = CaptureBuilder()
    capture.step(7, 0, 1000)
    capture.add("strategy-lab input", 0, 50)
    capture.receive("b/_2", 60, 620, step_id=1)
    capture.add("a:Mul", 60, 100)
    capture.add("b:Mul", 60, 600)
    capture.add("b/_1:_Send", 600, 605)
    capture.receive("sum/_4", 605, 690, step_id=2)
    capture.add("sum:AddN", 620, 650)
    capture.add("sum/_3:_Send", 660, 670)
    capture.add("use:Sub", 700, 800)
    return capture


def test_a_late_sender_is_waited_for() -> None:
    rows = _tables(_late_sender(), REDUCTION)["replica_steps"]
    assert [row["step"] for row in rows] == [7, 7]
    assert _phases(rows[0]) == {
        "compute": 40 + 30,
        # From its own op until the send began; from its last send until the other one was done.
        "wait": 500 + 130,
        "transfer": 20 + 10,
        "input": 50,
        "idle": 1000 - 70 - 630 - 30 - 50,
    }
    assert _phases(rows[1]) == {
        "compute": 540 + 100,
        "wait": 660 - 605,
        "transfer": 5 + 30,
        "input": 50,
        "idle": 1000 - 640 - 55 - 35 - 50,
    }


def test_a_reduction_without_a_collective_op_is_an_all_reduce() -> None:
    rows = _tables(_late_sender(), REDUCTION)["collectives"]
    assert {row["op"] for row in rows} == {"all-reduce"}
    assert {row["source"] for row in rows} == {"derived"}
    assert {row["bytes"] for row in rows} == {400}
    by_replica = {row["replica"]: row for row in rows}
    assert by_replica[0]["wait_ms"] == pytest.approx(500e-6)
    assert by_replica[1]["wait_ms"] == 0
    assert by_replica[0]["transfer_ms"] == pytest.approx(50e-6)
    assert by_replica[1]["transfer_ms"] == pytest.approx(90e-6)
    assert by_replica[1]["algbw_gbps"] == pytest.approx(400 / 90)
    assert by_replica[1]["busbw_gbps"] == pytest.approx(400 / 90 * 2 * (2 - 1) / 2)


def test_transfers_have_bytes_and_both_devices() -> None:
    rows = _tables(_late_sender(), REDUCTION)["transfers"]
    assert [(r["tensor"], r["bytes"], r["send_device"], r["recv_device"]) for r in rows] == [
        ("b", 400, DEVICES[1], DEVICES[0]),
        ("sum", 400, DEVICES[0], DEVICES[1]),
    ]
    assert [row["duration_ms"] for row in rows] == pytest.approx([20e-6, 30e-6])
    assert all(row["bytes_source"] == "derived" for row in rows)


COLLECTIVE = _nodes(
    *(_node(f"grad_{r}", "Mul", r) for r in (0, 1)),
    *(
        _node(f"reduce_{r}", "CollectiveReduceV2", r, f"grad_{r}", bytes=1000, group_size=2)
        for r in (0, 1)
    ),
)


def _collective(lateness: int) -> CaptureBuilder:
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    for replica, begin in ((0, 100), (1, 100 + lateness)):
        capture.add(f"grad_{replica}:Mul", 50, begin)
        capture.add(
            f"reduce_{replica}:CollectiveReduceV2", begin, 800, line=f"r{replica}", instance_key=5
        )
    return capture


def test_an_eager_collective_is_not_the_one_of_the_graph_with_the_same_name() -> None:
    graph = _nodes(_node("CollectiveReduceV2", "CollectiveReduceV2", 0, bytes=1000, group_size=2))
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    capture.receive("CollectiveReduceV2", 100, 210, op="CollectiveReduceV2")
    # The graph's one, and an eager one after the receive has completed.
    for begin, instance in ((110, 5), (300, 6)):
        name = "CollectiveReduceV2:CollectiveReduceV2"
        capture.add(name, begin, begin + 90, instance_key=instance)
    (row,) = _tables(capture, graph)["collectives"]
    assert (row["instance"], row["bytes"]) == (5, 1000)


def test_every_round_of_a_loop_in_a_graph_has_its_collective() -> None:
    graph = _nodes(_node("reduce", "CollectiveReduceV2", 0, bytes=1000, group_size=2))
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    for begin, instance in ((500, 6), (100, 5)):  # lines are not in order of time
        capture.receive("reduce", begin, begin + 110, op="CollectiveReduceV2")
        capture.add("reduce:CollectiveReduceV2", begin + 10, begin + 100, instance_key=instance)
    rows = _tables(capture, graph)["collectives"]
    assert sorted(row["instance"] for row in rows) == [5, 6]


@given(st.integers(0, 600))
def test_waiting_in_a_collective_ends_when_the_last_one_starts(lateness: int) -> None:
    tables = _tables(_collective(lateness), COLLECTIVE)
    first, second = tables["collectives"]
    assert first["wait_ms"] == pytest.approx(lateness / 1e6)
    assert second["wait_ms"] == 0
    assert first["transfer_ms"] == second["transfer_ms"] == pytest.approx((700 - lateness) / 1e6)
    for row in tables["replica_steps"]:
        phases = _phases(row)
        assert sum(phases.values()) == 1000
        assert phases["transfer"] == 700 - lateness
    assert _phases(tables["replica_steps"][0])["wait"] == lateness


@pytest.mark.parametrize(("is_whole_before", "transfer"), [(True, 50), (False, 0)])
def test_the_wait_for_a_member_whose_event_is_missing_is_no_transfer(
    is_whole_before: bool, transfer: int
) -> None:
    """The last event of a late replica is cut off by the end of the capture."""
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    capture.step(1, 1000, 2000)
    for replica, begin in ((0, 100), (1, 650)):
        if is_whole_before or not replica:
            capture.add(f"reduce_{replica}:CollectiveReduceV2", begin, 700, instance_key=5)
    capture.add("reduce_0:CollectiveReduceV2", 1100, 1800, instance_key=6)
    *others, last = _tables(capture, COLLECTIVE)["collectives"]
    assert last["step"] == 1
    assert last["source"] == "estimated"
    assert all(row["source"] == "measured" for row in others if is_whole_before)
    assert (last["wait_ms"], last["transfer_ms"]) == pytest.approx(
        ((700 - transfer) / 1e6, transfer / 1e6)
    )


def test_a_member_in_another_process_is_not_missing() -> None:
    """Two devices of a worker, each in a group with a device of another worker."""
    devices = [name.replace("job:localhost", "job:worker") for name in DEVICES]
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    nodes = [
        replace(node, device=devices[position]) for position, node in enumerate(COLLECTIVE[2:])
    ]
    for replica in (0, 1):
        capture.add(f"reduce_{replica}:CollectiveReduceV2", 100, 700, instance_key=5 + replica)
    nodes = [replace(node, index=index, inputs=()) for index, node in enumerate(nodes)]
    joined = join(xspace.decode(capture.serialized()), Graph(nodes, devices))
    rows = to_tables(joined, WindowOf(0, 0))["collectives"].to_pylist()
    assert [(row["wait_ms"], row["transfer_ms"]) for row in rows] == [
        (0, pytest.approx(600e-6))
    ] * 2


def test_a_call_that_xla_compiles_computes_from_its_launch_to_its_end() -> None:
    capture = CaptureBuilder()
    capture.step(7, 0, 1000)
    for node in ("call", "other"):
        capture.receive(node, 100, 700, op="StatefulPartitionedCall")
    capture.add("use:Sub", 700, 800)
    tables = _tables(capture, _nodes(_node("call", XLA_CALL, 0), _node("use", "Sub", 0, "call")))
    (row,) = tables["replica_steps"]
    assert _phases(row)["compute"] == 700
    traced = _nodes(_node("call", "StatefulPartitionedCall", 0), _node("use", "Sub", 0, "call"))
    (row,) = _tables(capture, traced)["replica_steps"]  # its ops are events of their own
    assert _phases(row)["compute"] == 100


def test_compute_beside_a_collective_is_compute() -> None:
    capture = _collective(0)
    capture.add("grad_0:Mul", 300, 500, line="other")
    row = _tables(capture, COLLECTIVE)["replica_steps"][0]
    assert _phases(row)["compute"] == 50 + 200
    assert _phases(row)["transfer"] == 700 - 200


def test_ops_that_no_graph_knows_are_counted_and_kept() -> None:
    capture = _collective(0)
    capture.add("elsewhere:Mul", 10, 20)
    joined = join(xspace.decode(capture.serialized()), Graph(COLLECTIVE, DEVICES))
    assert joined.num_unmatched == 1
    spans = to_tables(joined, WindowOf(0, 0))["spans"].to_pylist()
    assert [span["name"] for span in spans if span["device"] is None] == ["elsewhere"]
    assert {span["start_ns"] for span in spans if span["name"] == "elsewhere"} == {EPOCH_NS + 10}


def test_a_name_on_two_devices_is_ambiguous_not_guessed() -> None:
    nodes = _nodes(_node("same", "Mul", 0), _node("same", "Mul", 1))
    capture = CaptureBuilder()
    capture.step(0, 0, 100)
    capture.add("same:Mul", 10, 20)
    joined = join(xspace.decode(capture.serialized()), Graph(nodes, DEVICES))
    assert (joined.num_ambiguous, joined.num_unmatched) == (1, 0)


def test_unknown_sizes_are_null_with_no_source() -> None:
    nodes = [replace(node, bytes=None) for node in COLLECTIVE]
    for row in _tables(_collective(0), nodes)["collectives"]:
        assert row["bytes"] is None
        assert row["bytes_source"] is None
        assert row["algbw_gbps"] is None


def test_the_end_of_a_call_is_waited_for() -> None:
    """No receive, no collective: replica 0 is done at 100, replica 1 at 700."""
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    capture.add("EagerLocalExecute: __inference_step_1", 10, 800)
    capture.add("grad_0:Mul", 50, 100)
    capture.add("grad_1:Mul", 50, 700)
    first, second = _tables(capture, COLLECTIVE)["replica_steps"]
    assert _phases(first)["wait"] == 600
    assert _phases(second)["wait"] == 0
    assert _phases(second)["idle"] == 1000 - 650


events = st.lists(
    st.tuples(
        st.sampled_from(["a:Mul", "b:Mul", "sum:AddN", "b/_1:_Send", "sum/_3:_Send", "use:Sub"]),
        st.integers(0, 2000),
        st.integers(0, 400),
    ),
    max_size=25,
)
receives = st.lists(
    st.tuples(st.sampled_from(["b/_2", "sum/_4"]), st.integers(0, 2000), st.integers(0, 400)),
    max_size=10,
)


@pytest.mark.slow
@given(events, receives)
def test_any_timeline_adds_up_exactly(
    drawn: list[tuple[str, int, int]], received: list[tuple[str, int, int]]
) -> None:
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    capture.step(1, 1100, 2000)
    for number, (name, start, length) in enumerate(drawn):
        capture.add(name, start, start + length, line=f"thread {number % 3}")
    for number, (name, start, length) in enumerate(received):
        capture.receive(name, start, start + length, step_id=number)
    for row in _tables(capture, REDUCTION)["replica_steps"]:
        phases = _phases(row)
        assert sum(phases.values()) == round(row["wall_ms"] * 1e6)
        assert min(phases.values()) >= 0


def test_a_replica_that_waits_for_another_ones_batch_hides_no_stage_of_the_input() -> None:
    """Replica 0 waits in the all-reduce from 100 on, replica 1 for its batch from 0 to 600."""
    nodes = [*COLLECTIVE, _node("IteratorGetNext", "IteratorGetNext", 1)]
    capture = CaptureBuilder()
    capture.step(0, 0, 1000)
    capture.add("IteratorGetNext:IteratorGetNext", 0, 600, line="r1")
    for replica, begin, end in ((0, 0, 100), (1, 600, 700)):
        capture.add(f"grad_{replica}:Mul", begin, end)
        name = f"reduce_{replica}:CollectiveReduceV2"
        capture.add(name, end, 800, line=f"r{replica}", instance_key=5)
    capture.add("Iterator::Root::Generator", 0, 600, "other")
    causes = _tables(capture, _nodes(*nodes))["causes"]
    (stage,) = (row for row in causes if row["kind"] == "input-stage")
    assert stage["held_ms"] == pytest.approx(500 / 1e6)
