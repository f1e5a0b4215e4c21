"""What each op that records events waits for in the graph, through ops too small to record any."""

from __future__ import annotations

from collections.abc import Collection

from strategy_profiles.capture.graph import RECEIVES, Graph, Node

_BACK_EDGE = "NextIteration"
"""Ends an iteration of a loop: what it feeds belongs to the next one."""


def dependencies(graph: Graph, with_events: Collection[int]) -> dict[int, tuple[int, ...]]:
    """Return the nodes each node with events waits for, by index; receives count as having events.

    A receive waits for its send on the other device.
    """
    known = set(with_events)
    found: dict[int, tuple[int, ...]] = {}
    for node in graph.nodes:
        if node.op in RECEIVES:
            send = graph.peer(node)
            found[node.index] = () if send is None else (send.index,)
        elif node.index in known:
            found[node.index] = _through(graph, node, known)
    return found


def _through(graph: Graph, node: Node, known: set[int]) -> tuple[int, ...]:
    """Return the nearest ancestors with events."""
    before: list[int] = []
    seen, stack = {node.index}, [node]
    while stack:
        for producer in graph.producers(stack.pop()):
            if producer.index in seen or producer.op == _BACK_EDGE:
                continue
            seen.add(producer.index)
            if producer.index in known or producer.op in RECEIVES:
                before.append(producer.index)
            else:
                stack.append(producer)
    return tuple(before)
