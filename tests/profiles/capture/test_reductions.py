"""Reductions made of sends, receives and sums: each is found once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from strategy_lab.profiles.capture.graph import Graph, Node
from strategy_lab.profiles.capture.reductions import find_reductions

DEVICES = [f"/job:localhost/replica:0/task:0/device:CPU:{number}" for number in range(4)]
BYTES = 404_240


class Placed:
    """Nodes by device; an edge between two devices becomes a send and a receive."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def add(self, name: str, op: str, device: int, *inputs: str, size: int = BYTES) -> str:
        home = {node.name: node.device for node in self.nodes}
        local = [
            source if home[source] == DEVICES[device] else self.carry(source, home[source], device)
            for source in inputs
        ]
        self.nodes.append(Node(0, 0, name, op, DEVICES[device], tuple(local), bytes=size))
        return name

    def carry(self, source: str, home: str, device: int) -> str:
        edge = {"tensor": source, "send_device": home, "recv_device": DEVICES[device]}
        send, receive = f"{source}/send_{device}", f"{source}/recv_{device}"
        self.nodes.append(Node(0, 0, send, "_Send", home, (source,), bytes=BYTES, **edge))
        self.nodes.append(Node(0, 0, receive, "_Recv", DEVICES[device], (), bytes=BYTES, **edge))
        return receive

    def graph(self) -> Graph:
        return Graph([replace(n, index=i) for i, n in enumerate(self.nodes)], DEVICES)


def test_packs_that_are_concatenated_again_are_not_gathered_a_second_time() -> None:
    """HierarchicalCopyAllReduce with two packs on four devices, as TensorFlow builds it."""
    placed, half = Placed(), BYTES // 2
    for device in range(4):
        placed.add(f"gradients_{device}", "ConcatV2", device)
        placed.add(f"split_{device}", "SplitV", device, f"gradients_{device}")
    for pack, (low, high) in enumerate(((0, 2), (1, 3))):
        placed.add(f"partial_{pack}", "AddN", high, "split_2", "split_3", size=half)
        placed.add(f"sum_{pack}", "AddN", low, "split_0", "split_1", f"partial_{pack}", size=half)
    for device in range(4):
        placed.add(f"unpacked_{device}", "ConcatV2", device, "sum_0", "sum_1")
    found = find_reductions(placed.graph(), lambda _node: True)
    assert [(item.op, item.bytes) for item in found] == [("all-reduce", half)] * 2


def test_a_concatenation_of_what_the_devices_made_is_a_gather() -> None:
    placed = Placed()
    for device in range(2):
        placed.add(f"values_{device}", "Mul", device)
    placed.add("values", "ConcatV2", 0, "values_0", "values_1")
    assert [item.op for item in find_reductions(placed.graph(), lambda _node: True)] == ["gather"]


def test_a_result_that_goes_on_from_device_to_device_is_one_reduction() -> None:
    placed = Placed()
    for device in range(4):
        placed.add(f"gradient_{device}", "Mul", device)
    placed.add("sum", "AddN", 0, *(f"gradient_{device}" for device in range(4)))
    placed.add("copy_0", "Identity", 0, "sum")
    for before, device in pairwise(range(4)):
        placed.add(f"copy_{device}", "Identity", device, f"copy_{before}")
    assert [item.op for item in find_reductions(placed.graph(), lambda _node: True)] == [
        "all-reduce"
    ]
