"""What of the forward and backward pass does not grow with the batch.

- Ops that pack gradients for a collective have the gradients' size.
- A read of a variable has the variable's size.
- A transfer of a few bytes (of an id, or of nothing, to order two ops) takes its latency. In five
  workloads on two devices, small transfers took 0.3 to 3.4 ms of a step, and none took longer with
  twice the batch; reads of variables up to 2.2 ms, likewise. While both grew with the batch, up to
  90 % of the predicted growth of the passes was theirs.
- A product with a variable, or one that makes the gradient of a variable, moves all of that tensor
  through memory, however few examples there are. A product of 16 examples with a matrix of 1 MB is
  mostly that. How long a byte takes is measured at the packing, which reads and writes each.

Found on a machine with other programs, with 4 MB of variables on two devices: of 32 and of 256
examples the packing took 10 ms, the products 33 and 75 ms. While all of that grew with the batch,
four times the batch was predicted 110 % too long on four devices, and 18 % with this.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from strategy_profiles.run.tensorflow_names import READ_VARIABLE
from strategy_profiles.step_graph.graph import ENTER, SMALL_BYTES, StepGraph
from strategy_profiles.tables.columns import Bools, Floats

_PACKS = frozenset({"ConcatV2", "Pack", "Reshape", "Identity"})
_COPIES = frozenset({"ConcatV2", "Pack"})
_PRODUCTS = ("MatMul", "Conv", "Einsum")
_LATENCY_BYTES = 65_536
"""A transfer of so many bytes takes about as long as the thread that receives it takes to wake."""
_ENOUGH_BYTES = 100_000
"""Less is packed too quickly to tell how long a byte takes."""


def gradient_entries(graph: StepGraph) -> list[int]:
    """Return the entries of collectives of gradients."""
    nodes = graph.nodes
    return [
        at
        for at, category in enumerate(nodes.category)
        if category == ENTER and nodes.bytes[at] > SMALL_BYTES
    ]


def without_examples(graph: StepGraph) -> Bools:
    """Return which nodes take as long with any number of examples."""
    nodes = graph.nodes
    reads = np.array([op == READ_VARIABLE for op in nodes.op])
    moves = np.array([category == "transfer" for category in nodes.category])
    is_without: Bools = packing_of(graph) | reads | (moves & (nodes.bytes <= _LATENCY_BYTES))
    return is_without


def packing_of(graph: StepGraph) -> Bools:
    """Return which nodes pack gradients for a collective."""
    packs = np.zeros(len(graph), bool)
    left = gradient_entries(graph)
    while left:
        for before in graph.waits_for[left.pop()]:
            if graph.nodes.op[before] in _PACKS and not packs[before]:
                packs[before] = True
                left.append(before)
    return packs


def copy_ns(graph: StepGraph, work_ns: Floats) -> Floats:
    """Return how long each product takes to move the variables and gradients that it works on.

    Zero for other nodes, and for all if no packing tells how long a byte takes.
    """
    copies_ns = np.zeros(len(graph))
    packing, nodes = packing_of(graph), graph.nodes
    copies = packing & np.array([op in _COPIES for op in nodes.op]) & np.isfinite(nodes.bytes)
    copied = float(nodes.bytes[copies].sum())
    if copied < _ENOUGH_BYTES:
        return copies_ns
    ns_per_byte = float(work_ns[copies].sum()) / copied
    after = packing.copy()
    after[gradient_entries(graph)] = True
    for at in _products(graph):
        copies_ns[at] = ns_per_byte * _bytes_of_variables(graph, at, after)
    return copies_ns


def _products(graph: StepGraph) -> Iterator[int]:
    for at, op in enumerate(graph.nodes.op):
        if any(kind in op for kind in _PRODUCTS):
            yield at


def _bytes_of_variables(graph: StepGraph, at: int, after: Bools) -> float:
    """Add up the variables that a product reads and the gradient that it makes.

    Args:
      after: nodes that take gradients.
    """
    nodes = graph.nodes
    sizes = [nodes.bytes[each] for each in graph.waits_for[at] if nodes.op[each] == READ_VARIABLE]
    if any(after[each] for each in graph.followers[at]):
        sizes.append(nodes.bytes[at])
    return float(np.nansum(sizes))
