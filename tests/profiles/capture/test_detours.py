"""Ops that a program put on another device than their replica's, and what looks like such."""

from __future__ import annotations

from strategy_profiles.capture.detours import find_detours
from strategy_profiles.capture.graph import Graph
from tests.profiles.capture.placed import BYTES, DEVICES, Placed


def test_ops_whose_inputs_come_from_a_replica_and_go_back_to_it_are_a_detour() -> None:
    placed = Placed()
    placed.add("features", "Mul", 0)
    placed.add("pinned", "MatMul", 1, "features")
    placed.add("pinned_1", "Tanh", 1, "pinned")
    placed.add("loss", "Mean", 0, "pinned_1")
    placed.add("own_work", "MatMul", 1)
    (detour,) = find_detours(placed.graph())
    assert (detour.replica, detour.device, detour.name) == (0, DEVICES[1], "pinned")
    assert detour.described == "The op pinned (MatMul) with 1 more op"
    assert detour.bytes == 2 * BYTES
    assert {placed.graph().nodes[node].name for node in detour.nodes} >= {"pinned", "pinned_1"}
    assert "own_work" not in {placed.graph().nodes[node].name for node in detour.nodes}


def test_a_detour_may_lead_over_a_device_of_no_replica() -> None:
    placed = Placed()
    placed.add("features", "Mul", 0)
    placed.add("pinned", "MatMul", 3, "features")
    placed.add("loss", "Mean", 0, "pinned")
    graph = Graph(placed.graph().nodes, DEVICES[:2])
    assert [detour.device for detour in find_detours(graph)] == [DEVICES[3]]


def test_a_reduction_on_one_device_is_no_detour() -> None:
    placed = Placed()
    for device in range(4):
        placed.add(f"gradient_{device}", "Mul", device)
    placed.add("sum", "AddN", 0, *(f"gradient_{device}" for device in range(4)))
    placed.add("mean", "Mul", 0, "sum")
    for device in range(1, 4):
        placed.add(f"update_{device}", "AssignSub", device, "mean")
    assert find_detours(placed.graph()) == ()


def test_a_gradient_that_is_not_sent_back_is_not_a_detour() -> None:
    """Central storage: the host updates its variable, and sends nothing back for it."""
    placed = Placed()
    placed.add("gradient", "Mul", 1)
    placed.add("update", "AssignSub", 0, "gradient")
    assert find_detours(placed.graph()) == ()


def test_a_replicas_ops_on_its_own_device_that_take_variables_of_another_are_no_detour() -> None:
    """Central storage on the first replica's device: a gain that is reshaped, and its gradient."""
    placed = Placed()
    placed.add("gain", "Mul", 0)
    placed.add("replica_1/model/norm/Reshape", "Reshape", 1, "gain")
    placed.add("gradient_tape/replica_1/model/norm/Mul", "Mul", 1, "replica_1/model/norm/Reshape")
    placed.add("update", "AssignSub", 0, "gradient_tape/replica_1/model/norm/Mul")
    assert find_detours(placed.graph()) == ()
