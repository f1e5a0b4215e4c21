"""Which calls of a model compute again what another call in the step has computed of the same data?

From the graph of the step. TensorFlow merges ops that read the same: two ops of one type that read
one tensor and one variable are left if the variable is written between them, as when a program
calls its model again for a metric after the update. Calls that gradients are computed of are
training, and do not count.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from msgspec import Struct

from strategy_profiles.analysis.account.op_time import lengths_of_ops, lines_of_ops
from strategy_profiles.analysis.graph_file import graph_of
from strategy_profiles.analysis.scopes import scoped
from strategy_profiles.capture.graph import Graph, Node
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.tensorflow_names import type_as_written
from strategy_profiles.tables.store import Profile, once

_READ = "ReadVariableOp"
_PASS_ON = frozenset({"Identity", "Cast"})
"""What may lie between a variable and the op that uses it."""


class RepeatedCalls(Struct, frozen=True):
    """The calls in a segment's step that run the same layers on the same data as another call."""

    share: float
    """Of the time of all ops of replicas that compute."""
    lines: tuple[str, ...]
    """File and line of the program of each, the one that takes longest first."""
    first: str | None
    """File and line of the call that they repeat; None if it is not known."""


@once
def repeated_calls(profile: Profile, segment: SegmentOpened) -> RepeatedCalls | None:
    """The repeated calls in the typical captured steps; None without captures, a graph, or any."""
    graph, ops = graph_of(profile, segment), lengths_of_ops(profile, segment.segment)
    if graph is None or not ops:
        return None
    repeats = repeated_scopes(graph)
    line_of = lines_of_ops(profile, segment.segment)
    of_line, firsts = Counter[str](), Counter[str]()
    for name, _, length in ops:
        op, line = scoped(name), line_of.get(name)
        if line is not None and not op.is_gradient and op.path[0] in repeats:
            of_line[line] += length
            first = line_of.get(repeats[op.path[0]])
            if first is not None:
                firsts[first] += length
    if not of_line:
        return None
    first, _ = firsts.most_common(1)[0] if firsts else (None, 0)
    lines = tuple(line for line, _ in of_line.most_common())
    return RepeatedCalls(of_line.total() / sum(length for *_, length in ops), lines, first)


def repeated_scopes(graph: Graph) -> dict[str, str]:
    """The outermost scope of each repeated call, with the name of an op of the call before it."""
    names = [scoped(node.name) for node in graph.nodes]
    trained = {name.path[0] for name in names if name.is_gradient}
    uses: dict[tuple[str, int, int, int], list[Node]] = defaultdict(list)
    for node, name in zip(graph.nodes, names, strict=True):
        if not name.is_gradient and (of := _data_and_variable(graph, node)) is not None:
            uses[type_as_written(node.op), node.function, *of].append(node)
    repeats: dict[str, str] = {}
    for nodes in uses.values():
        scopes: dict[str, str] = {}
        for node in nodes:
            scopes.setdefault(scoped(node.name).path[0], node.name)
        known = next((name for scope, name in scopes.items() if scope in trained), None)
        others = [scope for scope in scopes if scope not in trained]
        first = known or (scopes[others[0]] if len(others) > 1 else None)
        if first is not None:
            repeats |= {scope: first for scope in others if scopes[scope] != first}
    return repeats


def _data_and_variable(graph: Graph, node: Node) -> tuple[int, int] | None:
    """The number of the node that gives an op its data, and of the variable that it reads; None if
    it does not read both."""
    producers = graph.data_producers(node)
    if len(producers) < 2 or producers[0].op == _READ:
        return None
    for each in producers[1:]:
        read = each
        while read.op in _PASS_ON and (before := graph.data_producers(read)):
            read = before[0]
        if read.op == _READ and (variable := graph.data_producers(read)):
            return producers[0].index, variable[0].index
    return None
