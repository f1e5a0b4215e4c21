"""The bytes of the variables that a step writes, from its graph."""

from __future__ import annotations

from strategy_profiles.analysis.written_variables import written_on_devices
from strategy_profiles.capture.graph import Graph, Node

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def test_variables_that_are_only_read_do_not_count() -> None:
    nodes = [
        Node(0, 0, "kernel_resource", "_Arg", DEVICE, (), bytes=64),
        Node(1, 0, "head_resource", "_Arg", DEVICE, (), bytes=8),
        Node(2, 0, "Read", "ReadVariableOp", DEVICE, ("kernel_resource",), bytes=64),
        Node(3, 0, "Update", "AssignSubVariableOp", DEVICE, ("head_resource", "Read")),
    ]
    assert written_on_devices(Graph(nodes, [DEVICE])) == {DEVICE: 8}
    assert written_on_devices(Graph(nodes[:3], [DEVICE])) == {}
