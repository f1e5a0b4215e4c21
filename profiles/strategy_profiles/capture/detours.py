"""Find ops of a replica that the program places on another device.

In the placed graph, such an op receives every input from one replica's device, and its result is
sent back to that device. This excludes reductions, which have inputs from several devices or from
their own one, and reads of a remote variable, which have no input.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from strategy_profiles.capture.graph import RECEIVES, SENDS, Graph, Node
from strategy_profiles.run.op_scopes import replica_in

_NO_WORK = frozenset({"Identity", "IdentityN", "NoOp", "Const"})


@dataclass(frozen=True, slots=True)
class Detour:
    """The ops of one replica on one other device."""

    replica: int
    device: str
    """The device on which the ops run."""
    nodes: tuple[int, ...]
    name: str
    """Name of the first op."""
    described: str
    """A description like `The op MatMul_1 (MatMul) with 3 more ops`."""
    bytes: int | None
    """Bytes sent there and back per step; None if a size is not known statically."""


@lru_cache(maxsize=2)
def find_detours(graph: Graph) -> tuple[Detour, ...]:
    """Return the detours of a graph, one per pair of replica and device.

    Cached for the two newest graphs, because the windows of a segment share one.
    """
    on_device: dict[str, list[Node]] = {}
    for node in graph.nodes:
        on_device.setdefault(node.device, []).append(node)
    pairs = {
        (node.send_device, node.device): None
        for node in graph.nodes
        if node.op in RECEIVES
        and node.send_device in graph.replica_of
        and graph.replica_of.get(node.device) != graph.replica_of[node.send_device]
    }
    detours = [
        _detour(graph, source, on_device[device], _only_from(graph, source, on_device[device]))
        for source, device in pairs
        if source is not None
    ]
    return tuple(detour for detour in detours if detour is not None)


def _only_from(graph: Graph, source: str, nodes: list[Node]) -> list[Node]:
    """Return the nodes of a device that depend only on values received from `source`.

    Starts from all nodes that have inputs, removes those with any other input, and then removes
    their consumers, transitively.
    """
    not_received = [node for node in nodes if node.op not in RECEIVES]
    inputs = {node.index: _data_inputs(graph, node) for node in not_received}
    own = {node.index for node in not_received if _is_at_home(graph, node)}
    away = {index for index, producers in inputs.items() if producers and index not in own}
    wrong = [index for index in inputs if index not in away]
    wrong += [
        index
        for index in away
        if any(n.op in RECEIVES and n.send_device != source for n in inputs[index])
    ]
    away -= set(wrong)
    while wrong:
        for consumer in graph.consumers.get(wrong.pop(), []):
            if consumer.index in away and any(
                n.index not in away for n in _others(inputs[consumer.index])
            ):
                away.discard(consumer.index)
                wrong.append(consumer.index)
    return [node for node in not_received if node.index in away]


def _is_at_home(graph: Graph, node: Node) -> bool:
    """Return whether the name's scope is that of the replica whose device the op runs on.

    With central storage on another replica's device, ops that take variables alone receive every
    input from there as well. The first replica's ops have no scope of their own.
    """
    replica = graph.replica_of.get(node.device)
    return replica is not None and replica_in(node.name) == replica


def _others(inputs: list[Node]) -> list[Node]:
    return [node for node in inputs if node.op not in RECEIVES]


def _data_inputs(graph: Graph, node: Node) -> list[Node]:
    """Return the producers of a node's inputs, without control edges and constants."""
    return [p for p in graph.data_producers(node) if p.op != "Const"]


def _detour(graph: Graph, source: str, every: list[Node], nodes: list[Node]) -> Detour | None:
    """Return the detour, or None if no result is sent back to `source` or no op does any work."""
    back = [node for node in nodes if node.op in SENDS and node.recv_device == source]
    known = {node.index for node in nodes}
    there = [  # the send knows the size, the receive does not
        graph.peer(node) or node
        for node in every
        if node.op in RECEIVES and node.send_device == source
        if any(consumer.index in known for consumer in graph.consumers.get(node.index, []))
    ]
    works = [node for node in nodes if node.op not in SENDS and node.op not in _NO_WORK]
    if not back or not works:
        return None
    sizes = [node.bytes for node in (*there, *back)]
    first, more = works[0], len(works) - 1
    many = "1 more op" if more == 1 else f"{more} more ops"
    return Detour(
        replica=graph.replica_of[source],
        device=every[0].device,
        nodes=tuple(node.index for node in nodes),
        name=first.name,
        described=f"The op {first.name} ({first.op})" + (f" with {many}" if more else ""),
        bytes=None if None in sizes else sum(size for size in sizes if size is not None),
    )
