"""Graphs as the runtime places them, drawn by hand."""

from __future__ import annotations

from strategy_profiles.capture.graph import Graph, Node
from tests.replaced import replace

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
