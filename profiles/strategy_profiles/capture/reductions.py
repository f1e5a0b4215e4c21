"""Find reductions without a collective op: an `AddN` whose inputs come from other devices, or a
concatenation in the case of sparse gradients.

ReductionToOneDevice, HierarchicalCopyAllReduce and CentralStorageStrategy reduce this way. In the
graph, contributions arrive through `_Send`/`_Recv`, partial sums are summed again, and the result
returns through `_Send`/`_Recv`, possibly forwarded by a receiver. If it returns to every
contributor, the reduction is an all-reduce (for a concatenation, an all-gather), otherwise a reduce
(a gather).

Packed gradients are concatenated and split into packs that are reduced separately; each device then
concatenates the reduced packs. That last concatenation is not a gather: its inputs are results of
reductions that are already counted.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from strategy_profiles.capture.graph import COMBINERS, RECEIVES, SENDS, Graph, Node

_SUM = "AddN"
LAB_MARKS = "lab-marks"
"""Scope in which the lab's own step gathers the replicas' timestamps."""
_NAMED = frozenset({"halo-exchange", LAB_MARKS})
"""Scopes that say what an exchange is: between emulated TPU cores, or of the lab itself."""
_SAME_VALUE = frozenset({"Identity", "IdentityN", "Mul", "RealDiv", "Reshape", "Cast"})
"""Ops whose output still counts as the result (a mean is a scaled sum)."""


class Contribution(Struct):
    """The contribution of one device: the sends of it, or the ops that produce it in place."""

    sends: list[int] = []
    producers: list[int] = []


class Reduction(Struct, frozen=True):
    """One logical collective in the graph."""

    node: int
    device: str
    op: str
    bytes: int | None
    contributions: dict[str, Contribution]
    results: dict[str, int]
    """Index of the node that receives the result, by device."""


def find_reductions(graph: Graph, has_event: Callable[[Node], bool]) -> list[Reduction]:
    """Return the reductions of a graph; a partial sum belongs to the reduction that it feeds."""
    candidates = [n for n in graph.nodes if n.op in COMBINERS and _has_foreign_input(graph, n)]
    inner: set[int] = set()
    sums = []
    for node in candidates:
        contributions: dict[str, Contribution] = {}
        _collect(graph, node, contributions, inner, has_event)
        if len(contributions) > 1:
            sums.append((node, contributions))
    reductions = []
    outer = [
        (node, parts, *_results(graph, node)) for node, parts in sums if node.index not in inner
    ]
    reduced = {at for node, _, _, reached in outer if node.op == _SUM for at in reached}
    for node, contributions, results, _ in outer:
        if node.op != _SUM and _foreign_inputs(graph, node) <= reduced:
            continue  # unpacks values that are already reduced
        returned = all(d in results for d in contributions if d != node.device)
        everywhere, on_one = COMBINERS[node.op]
        op = _scope_name(node) or (everywhere if returned else on_one)
        reductions.append(
            Reduction(node.index, node.device, op, node.bytes, contributions, results)
        )
    return reductions


def _scope_name(node: Node) -> str | None:
    """Return what the scopes of a node's name say that it is part of; None if nothing."""
    return next((part for part in node.name.split("/") if part in _NAMED), None)


def _has_foreign_input(graph: Graph, node: Node) -> bool:
    sources = {p.send_device for p in _data_inputs(graph, node) if p.op in RECEIVES}
    return any(device in graph.replica_of for device in sources)


def _foreign_inputs(graph: Graph, node: Node) -> set[int]:
    """Return the indices of the receives that feed a node."""
    return {producer.index for producer in _data_inputs(graph, node) if producer.op in RECEIVES}


def _data_inputs(graph: Graph, node: Node) -> list[Node]:
    """Return the producers of a node's inputs, without control edges, through `Identity` ops."""
    producers = []
    for producer in graph.data_producers(node):
        is_copy = producer.op == "Identity"
        producers += _data_inputs(graph, producer) if is_copy else [producer]
    return producers


def _collect(
    graph: Graph,
    node: Node,
    contributions: dict[str, Contribution],
    inner: set[int],
    has_event: Callable[[Node], bool],
) -> None:
    """Collect the contributions to a combiner, through partial combiners on other devices."""
    for producer in _data_inputs(graph, node):
        if producer.op == "Const":
            continue
        send = graph.peer(producer) if producer.op in RECEIVES else None
        source = next(iter(_data_inputs(graph, send)), None) if send is not None else producer
        if source is not None and source.op == node.op and _has_foreign_input(graph, source):
            inner.add(source.index)
            _collect(graph, source, contributions, inner, has_event)
        elif send is not None:
            contributions.setdefault(send.device, Contribution()).sends.append(send.index)
        elif producer.op not in RECEIVES:
            local = contributions.setdefault(node.device, Contribution())
            local.producers += _nearest_events(graph, producer, has_event)


def _nearest_events(graph: Graph, node: Node, has_event: Callable[[Node], bool]) -> list[int]:
    """Return the node if it has events, otherwise its nearest ancestors that have events."""
    indices, seen, stack = [], {node.index}, [node]
    while stack:
        current = stack.pop()
        if has_event(current):
            indices.append(current.index)
            continue
        for producer in _data_inputs(graph, current):
            if producer.index not in seen:
                seen.add(producer.index)
                stack.append(producer)
    return indices


def _results(graph: Graph, node: Node) -> tuple[dict[str, int], set[int]]:
    """Follow the result of a reduction.

    Returns the first receive on each device, forwarded ones included, and every node whose output
    is the result.
    """
    results: dict[str, int] = {}
    seen, queue = {node.index}, [node]
    while queue:
        current = queue.pop(0)
        for consumer in graph.consumers.get(current.index, []):
            following = graph.peer(consumer) if consumer.op in SENDS else consumer
            if following is None or following.index in seen:
                continue
            if following.op in RECEIVES:
                results.setdefault(following.device, following.index)
            elif following.op not in _SAME_VALUE:
                continue
            seen.add(following.index)
            queue.append(following)
    return results, seen
