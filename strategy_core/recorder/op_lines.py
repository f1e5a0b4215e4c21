"""Finds the line of the program that made the ops of a traced graph.

TensorFlow keeps the Python stack of each op of a graph that is still alive. Reading one stack takes
0.1 ms of processor time, in which no other thread runs Python, so one op of each scope is asked. A
gradient has the line of the op that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from strategy_core.runtime.library_files import is_program_file
from strategy_lab.profiles.analysis.model_graph.scopes import Scoped, scoped
from strategy_lab.profiles.capture.graph import Node

MOST_OPS = 200
"""Number of stacks read, of the ops with the largest results first: about 20 ms together."""
_CALL = re.compile(r"^(?:Stateful)?PartitionedCall(?:_\d+)?/")
_REPLICA = re.compile(r"(?:^|/)replica_[1-9]\d*/")

Path = tuple[str, ...]


def op_lines(nodes: Sequence[Node], graphs: Iterable[Any]) -> list[str | None]:
    """The file and line of each node, such as `/home/me/train.py:12`; None if unknown.

    `graphs` are the live `tf.Graph`s of which the nodes may be. They are searched by name: the
    runtime names what it inlines after the call and the op in its function.
    """
    alive = [graph for graph in graphs if graph is not None]
    if not alive:
        return [None] * len(nodes)
    names = [scoped(node.name) for node in nodes]
    asked: dict[Path, Node] = {}
    for node, name in zip(nodes, names, strict=True):
        if name.is_gradient or _REPLICA.search(node.name):
            continue  # replicas have the same lines
        key = _scope(name)
        known = asked.get(key)
        if known is None or (node.bytes or 0) > (known.bytes or 0):
            asked[key] = node
    largest = sorted(asked.items(), key=lambda item: -(item[1].bytes or 0))[:MOST_OPS]
    lines = {key: found for key, node in largest if (found := _line(node.name, alive))}
    return [_of(name, lines) for name in names]


def _scope(name: Scoped) -> Path:
    """What an op shares its line with: its scope, or itself outside of every scope."""
    return name.path[:-1] or name.path


def _of(name: Scoped, lines: dict[Path, str]) -> str | None:
    """The line of an op, or of the nearest scope around it."""
    depths = range(len(name.path), 0, -1)
    return next((line for depth in depths if (line := lines.get(name.path[:depth]))), None)


def _line(name: str, graphs: Sequence[Any]) -> str | None:
    while name:
        for graph in graphs:
            try:
                op = graph.get_operation_by_name(name)
            except (KeyError, ValueError):  # of another graph
                continue
            return _program_line(op)
        inner = _CALL.sub("", name)
        name = inner if inner != name else ""
    return None


def _program_line(op: Any) -> str | None:
    """The innermost line of the program on the stack that made the op."""
    for frame in reversed(list(op.traceback or ())):
        if is_program_file(frame.filename) and not frame.filename.startswith("<"):
            return f"{frame.filename}:{frame.lineno}"
    return None
