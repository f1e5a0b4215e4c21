"""A step's graph with more replicas: each further one repeats the nodes of a recorded one.

A repeated node waits for the repeated ones of its own replica, and for the same host nodes. Who
waited for the nodes of another replica (a collective's exits, the host's end) waits for those of
all that repeat it, too. Host nodes stay as they are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from strategy_profiles.step_graph.graph import Nodes, StepGraph
from strategy_profiles.step_graph.recording import ReplayError


def repeats(graph: StepGraph, num_replicas: int) -> list[tuple[int, int]]:
    """Return `(node, replica)` for each node of the larger step: which one it repeats, in order.

    Raises ReplayError if the step has no replica, or more than `num_replicas`.
    """
    recorded = sorted({int(each) for each in graph.nodes.replica} - {-1})
    if not recorded or num_replicas < len(recorded):
        raise ReplayError(
            f"A step of {len(recorded)} replicas cannot be repeated to {num_replicas}"
        )
    copies: dict[int, list[int]] = defaultdict(list)
    for number in range(num_replicas):
        copies[recorded[number % len(recorded)]].append(number)
    return [
        (at, number)
        for at, replica in enumerate(graph.nodes.replica.tolist())
        for number in copies.get(replica, [-1])
    ]


def with_replicas(graph: StepGraph, num_replicas: int) -> tuple[StepGraph, list[int]]:
    """Return the step with so many replicas, and for each of its nodes the one it repeats."""
    pairs = repeats(graph, num_replicas)
    places: dict[int, dict[int, int]] = defaultdict(dict)
    for index, (at, number) in enumerate(pairs):
        places[at][number] = index
    waits_for = tuple(tuple(sorted(_before(graph, at, number, places))) for at, number in pairs)
    taken = [at for at, _ in pairs]
    nodes = graph.nodes
    larger = Nodes(
        nodes.start_ns[taken],
        nodes.end_ns[taken],
        [nodes.op[at] for at in taken],
        [nodes.name[at] for at in taken],
        [nodes.category[at] for at in taken],
        np.array([number for _, number in pairs]),
        [nodes.device[at] for at in taken],
        nodes.thread[taken],
        nodes.demand[taken],
        nodes.launch[taken],
        nodes.bytes[taken],
    )
    return replace(graph, nodes=larger, waits_for=waits_for), taken


def _before(graph: StepGraph, at: int, number: int, places: dict[int, dict[int, int]]) -> set[int]:
    """Return what a node waits for, by its place in the larger step."""
    nodes = graph.nodes
    before: set[int] = set()
    for each in graph.waits_for[at]:
        repeated = places[each]
        is_own = nodes.replica[each] == nodes.replica[at]
        is_of_thread = nodes.thread[each] == nodes.thread[at] and nodes.thread[at] > 0
        if is_own and nodes.category[at] != "collective":
            before.add(repeated[number])
        elif not is_own and is_of_thread and nodes.replica[each] >= 0:
            continue  # ops of other replicas take turns on a thread as it happens to be free
        else:
            before.update(repeated.values())
    return before
