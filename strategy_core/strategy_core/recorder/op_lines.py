"""Finds the line of the program that made the ops of a traced graph.

TensorFlow keeps the Python stack of each op of a graph that is still alive. Reading one stack takes
0.1 ms of processor time, in which no other thread runs Python, so one op of each scope is asked,
then ops that run Python, and some of the largest and of those whose size depends on the batch: a
layer that a program wrote has several lines. A gradient has the line of the op that it belongs to.
An unrolled loop makes thousands of scopes that differ in a number: one of them is asked before a
second one is, and those that are not asked have its line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strategy_core.private_tf import autograph_files
from strategy_core.runtime.library_files import is_program_file
from strategy_profiles.analysis.scopes import Scoped, scoped
from strategy_profiles.capture.graph import Node
from strategy_profiles.run.tensorflow_names import PYTHON_OPS

MOST_OPS = 200
"""Number of stacks read, of the ops with the largest results first: about 20 ms together."""
MOST_SINGLE_OPS = 100
"""Of these, at most so many in scopes of which an op is asked already."""
_TAKE_NO_TIME = frozenset(
    {"BroadcastGradientArgs", "Const", "ExpandDims", "Identity", "NoOp", "Pack", "ReadVariableOp"}
    | {"Reshape", "Shape", "Squeeze", "StridedSlice"}
)
_NUMBER = re.compile(r"_\d+$")
_INLINED = re.compile(
    r"^(?:(?:Stateful)?PartitionedCall(?:_\d+)?|.*?/(?:body|cond|then|else)/_\d+)/"
)
_REPLICA = re.compile(r"(?:^|/)replica_[1-9]\d*/")

Path = tuple[str, ...]


def op_lines(nodes: Sequence[Node], graphs: Iterable[Any]) -> list[str | None]:
    """The file and line of each node, such as `/home/me/train.py:12`; None if unknown.

    `graphs` are the live `tf.Graph`s of which the nodes may be. They are searched by name: the
    runtime names what it inlines after the call or the loop, and the op in its function. Not by
    `Graph.get_operation_by_name`, which waits for the lock of the graph and keeps Python's.
    """
    made: dict[str, Any] = {}
    for graph in graphs:
        for op in () if graph is None else graph.get_operations():
            made.setdefault(op.name, op)
    names = [scoped(node.name) for node in nodes]
    largest_op: dict[Path, tuple[int, Any]] = {}
    single: dict[Path, tuple[bool, float, str]] = {}
    for node, name in zip(nodes, names, strict=True):
        if name.is_gradient or _REPLICA.search(node.name):
            continue  # replicas have the same lines
        key, size, runs_python = _scope(name), node.bytes or 0, node.op in PYTHON_OPS
        if (key not in largest_op or size > largest_op[key][0]) and (
            op := _in_function(node.name, made)
        ):
            largest_op[key] = size, op
        if key != name.path and (size or runs_python or node.bytes is None):
            is_unknown = node.bytes is None and node.op not in _TAKE_NO_TIME
            single[name.path] = not runs_python, -math.inf if is_unknown else -size, node.name
    largest = sorted(largest_op.items(), key=lambda item: -item[1][0])
    first_alike: dict[Path, Path] = {}
    for key, _ in largest:
        first_alike.setdefault(_unnumbered(key), key)
    first = set(first_alike.values())
    chosen_ops = dict(sorted(largest, key=lambda item: item[0] not in first)[:MOST_OPS])
    lines = {key: line for key, (_, op) in chosen_ops.items() if (line := program_line(op))}
    num_single = min(MOST_OPS - len(chosen_ops), MOST_SINGLE_OPS)
    for key, (*_, made_as) in sorted(single.items(), key=lambda item: item[1])[:num_single]:
        op = _in_function(made_as, made)
        if op is not None and (line := program_line(op)):
            lines[key] = line
    for key in largest_op.keys() - chosen_ops.keys():
        if line := lines.get(first_alike[_unnumbered(key)]):
            lines[key] = line
    return [_of(name, lines) for name in names]


def _unnumbered(path: Path) -> Path:
    return tuple(_NUMBER.sub("", part) for part in path)


def _scope(name: Scoped) -> Path:
    """What an op shares its line with: its scope, or itself outside of every scope."""
    return name.path[:-1] or name.path


def _of(name: Scoped, lines: dict[Path, str]) -> str | None:
    """The line of an op, or of the nearest scope around it."""
    depths = range(len(name.path), 0, -1)
    return next((line for depth in depths if (line := lines.get(name.path[:depth]))), None)


def _in_function(name: str, made: Mapping[str, Any]) -> Any:
    """The op with which a node was made, whatever the runtime has inlined its function into."""
    op = made.get(name)
    while op is None and (inner := _INLINED.sub("", name)) != name:
        name = inner
        op = made.get(name)
    return op


def program_line(op: Any) -> str | None:
    """The innermost line of the program on the stack that made the op."""
    for frame in reversed(list(op.traceback or ())):
        file, line = frame.filename, frame.lineno
        if autograph_files.PREFIX in file:
            file, line = autograph_files.written_line(file, line) or ("<generated>", 0)
        if is_program_file(file) and not file.startswith("<"):
            return f"{file}:{line}"
    return None
