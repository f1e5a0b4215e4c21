"""Every knob of the all-reduce changes the graph that runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

pytestmark = [pytest.mark.tf, pytest.mark.usefixtures("logical_cpus")]


def ops(**knobs: Any) -> Counter[str]:
    """How many ops of each type the step of digits-mlp on four devices has, and how many calls of
    it XLA must compile."""
    from strategy_core.training import segment
    from strategy_profiles.spec.run_spec import RunSpec

    spec = RunSpec(
        strategy="mirrored", devices="cpu:4", workload="digits-mlp", global_batch_size=8, **knobs
    )
    built = segment.build(spec)
    graph = built.custom.step.get_concrete_function(*next(built.custom.batches)).graph
    operations = graph.get_operations()
    must_be = sum(op.node_def.attr["_XlaMustCompile"].b for op in operations)
    return Counter(op.type for op in operations) + Counter({"compiled by XLA": must_be})


def collectives(counted: Counter[str]) -> int:
    return sum(count for op, count in counted.items() if op.startswith("CollectiveReduce"))


def test_a_ring_has_one_packed_collective_per_replica() -> None:
    assert collectives(ops(cross_device_ops="collective-ring")) == 4
    assert collectives(ops(cross_device_ops="auto")) == 4


def test_bytes_per_pack_splits_the_ring_into_several_collectives() -> None:
    packed = ops(cross_device_ops="collective-ring", bytes_per_pack=2048)
    assert collectives(packed) >= 8


@pytest.mark.parametrize("algorithm", ["reduction-to-one-device", "hierarchical-copy"])
def test_algorithms_of_copies_have_no_collective(algorithm: str) -> None:
    assert collectives(ops(cross_device_ops=algorithm)) == 0


def test_hierarchical_copy_is_another_graph_than_reduction_to_one_device() -> None:
    one_device = ops(cross_device_ops="reduction-to-one-device")
    hierarchical = ops(cross_device_ops="hierarchical-copy")
    assert one_device["AddN"] != hierarchical["AddN"]


def test_num_packs_changes_how_hierarchical_copy_packs() -> None:
    counts = [
        ops(cross_device_ops="hierarchical-copy", num_packs=packs)["AddN"] for packs in (1, 2, 0)
    ]
    assert counts[0] < counts[1] < counts[2]  # 0: every gradient by itself


def test_xla_compiles_the_passes_of_each_replica_and_neither_update_nor_all_reduce() -> None:
    counted = ops(xla=True)
    assert collectives(counted) == 4
    assert counted["AssignSubVariableOp"] == ops()["AssignSubVariableOp"] > 0
    assert counted["MatMul"] == 0 < ops()["MatMul"]
    assert counted["compiled by XLA"] == 4
    assert ops()["compiled by XLA"] == 0


def test_a_delay_is_an_op_on_its_replicas_device_alone() -> None:
    from strategy_core.training import segment
    from strategy_profiles.spec.run_spec import RunSpec

    spec = RunSpec(devices="cpu:4", global_batch_size=8, inject=[{"replica": 2, "ms": 1}])
    built = segment.build(spec)
    graph = built.custom.step.get_concrete_function(*next(built.custom.batches)).graph
    functions = graph.as_graph_def().library.function  # the delay is a branch's
    nodes = [node for function in functions for node in function.node_def]
    delays = [node for node in nodes if "injected_delay" in node.name]
    assert [node.device.rsplit(":", 2)[-2:] for node in delays] == [["CPU", "2"]]


def test_a_place_for_a_delay_is_asked_for_on_its_replicas_device() -> None:
    """From another device, each step would have to send the answer over."""
    from strategy_core.training import segment
    from strategy_profiles.spec.run_spec import RunSpec

    spec = RunSpec(devices="cpu:4", global_batch_size=8, live_delays=True)
    built = segment.build(spec)
    graph = built.custom.step.get_concrete_function(*next(built.custom.batches)).graph
    captured = {inside.name: outside.device for outside, inside in graph.captures}
    branches = [op for op in graph.get_operations() if op.type == "If"]
    asked = [op.inputs[0].op.inputs[0].op.inputs[0].name for op in branches]
    on = [captured[name].rpartition(":")[2] for name in asked]
    assert on == [op.device.rpartition(":")[2] for op in branches] == ["0", "1", "2", "3"]
