"""Which ops compute the same in each step, because nothing that they read changes?

From the graph of the step: what an op reads comes, through any number of ops, from constants alone,
from tensors that the function captured, and from variables that it only reads.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct

from strategy_profiles.analysis.account.op_time import lengths_of_ops, lines_of_ops
from strategy_profiles.analysis.graph_file import graph_of
from strategy_profiles.capture.graph import RECEIVES, Graph, Node
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.tensorflow_names import ARGUMENT, PYTHON_OPS, type_as_written
from strategy_profiles.tables.store import Profile, once

_CONSTANTS = frozenset({"Const", "HostConst"})
_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"})
_CHECKS = frozenset({"VarIsInitializedOp"})
_KEEPS = re.compile(rf"{'|'.join(sorted(_READS))}|Assign\w*")
"""Ops that read or write a variable and compute nothing."""
_DRAWS = re.compile(r"(?!Stateless)\w*(Random|Multinomial|TruncatedNormal)\w*|Timestamp")
"""Ops that compute something else each time."""


class SameEachStep(Struct, frozen=True):
    """The ops of a segment's step that compute the same each time."""

    share: float
    """Of the time of all ops of replicas that compute."""
    ops: tuple[str, ...]
    """Their types, the longest first."""
    line: str | None
    """File and line of the program that made most of them, by time."""


@once
def same_each_step(profile: Profile, segment: SegmentOpened) -> SameEachStep | None:
    """The ops of the typical captured steps; None without captures, a graph, or any such op."""
    graph, ops = graph_of(profile, segment), lengths_of_ops(profile, segment.segment)
    if graph is None or not ops:
        return None
    varies = varying_nodes(graph)
    line_of = lines_of_ops(profile, segment.segment)
    of_type, of_line = Counter[str](), Counter[str | None]()
    for name, op, length in ops:
        node = graph.by_name.get(name)
        is_known = node is not None and node.index not in varies
        if is_known and op not in _CONSTANTS and not _KEEPS.fullmatch(op):
            of_type[type_as_written(op)] += length
            of_line[line_of.get(name)] += length
    if not of_type:
        return None
    share = of_type.total() / sum(length for *_, length in ops)
    types = tuple(op for op, _ in of_type.most_common())
    return SameEachStep(share, types, of_line.most_common(1)[0][0])


def varying_nodes(graph: Graph) -> set[int]:
    """The nodes whose results differ from step to step, or may."""
    unvisited = [node for node in graph.nodes if _may_vary(graph, node)]
    varies = {node.index for node in unvisited}
    while unvisited:
        for reader in graph.readers.get(unvisited.pop().index, []):
            if reader.index not in varies:
                varies.add(reader.index)
                unvisited.append(reader)
    return varies


def _may_vary(graph: Graph, node: Node) -> bool:
    """Whether a node by itself brings in something that changes, or that is not known."""
    if node.op in _CONSTANTS:
        return False
    if node.op == ARGUMENT:
        return not _is_only_read(graph, node) and not _is_captured(graph, node)
    is_unknown = len(graph.data_producers(node)) < sum(
        not text.startswith("^") for text in node.inputs
    )
    calls = "Call" in node.op or node.op in RECEIVES or node.op in PYTHON_OPS
    return is_unknown or not node.inputs or calls or _DRAWS.fullmatch(node.op) is not None


def _is_only_read(graph: Graph, argument: Node) -> bool:
    """Whether it is a variable that the function reads and does not write."""
    ops = {reader.op for reader in graph.readers.get(argument.index, [])} - _CHECKS
    return bool(ops) and ops <= _READS


def _is_captured(graph: Graph, argument: Node) -> bool:
    """Whether it is a tensor from outside of the function: these are named after the op that reads
    them and the input of the op, as `matmul_1_b`, and arguments as in the program."""
    readers = graph.readers.get(argument.index, [])
    named = [f"{reader.name.rpartition('/')[2].lower()}_" for reader in readers]
    return any(argument.name.startswith(name) for name in named)
