"""Which variables each step of a worker reads from the parameter servers as a whole.

The servers and workers record nothing, but the coordinator traces the function that they run. An op
that reads a variable moves all of it to the worker; `tf.nn.embedding_lookup` of a variable moves
the rows only. An update that is no scatter moves all of it back. A loop whose body reads the
variable does so in each turn: `tf.while_loop` hands the variable into it, not its value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from strategy_core.recorder.op_lines import program_line
from strategy_core.runtime.source_place import source_place
from strategy_profiles.run.event_parts import WholeRead
from strategy_profiles.run.tensorflow_names import READ_VARIABLE

_LOOPS = ("While", "StatelessWhile")
_UPDATES = ("Assign", "ResourceApply")
"""How the types of ops begin that write all of a variable."""
_MOST = 8


def whole_reads(graph: Any) -> list[WholeRead]:
    """The largest of these variables, the largest first; of the functions inside the graph only the
    bodies of loops are looked at."""
    variables = {id(variable.handle): variable for variable in graph.variables}
    inside = {
        id(inner): variables[id(outer)] for outer, inner in graph.captures if id(outer) in variables
    }
    readers: dict[int, Any] = {}
    updated: set[int] = set()
    bodies: dict[str, Any] = {}
    in_loop: set[int] = set()
    for op in graph.get_operations():
        if op.type in _LOOPS and any(id(each) in inside for each in op.inputs):
            if not bodies:
                functions = graph.as_graph_def().library.function
                bodies = {each.signature.name: each for each in functions}
            again = inside.keys() & set(_read_in(bodies[op.get_attr("body").name], op))
            readers |= dict.fromkeys(again, op)
            in_loop |= again
        handle = id(op.inputs[0]) if len(op.inputs) else 0
        if handle not in inside:
            continue
        if op.type == READ_VARIABLE and _is_used(op.outputs[0]):
            readers.setdefault(handle, op)
        if op.type.startswith(_UPDATES):
            updated.add(handle)
    reads = [
        _read(inside[handle], op, is_updated=handle in updated, in_loop=handle in in_loop)
        for handle, op in readers.items()
    ]
    return sorted(reads, key=lambda read: -read.bytes)[:_MOST]


def _is_used(tensor: Any) -> bool:
    """Whether an op uses the values of a tensor: TensorFlow removes a read that has no such op."""
    return any(
        _is_used(op.outputs[0]) if op.type == "Identity" else op.type != "Shape"
        for op in tensor.consumers()
    )


def _read_in(body: Any, loop: Any) -> Iterator[int]:
    """The inputs of a loop that its body reads as variables."""
    inputs = {
        arg.name: id(each) for arg, each in zip(body.signature.input_arg, loop.inputs, strict=True)
    }
    for node in body.node_def:
        if node.op == READ_VARIABLE and node.input[0] in inputs:
            yield inputs[node.input[0]]


def _read(variable: Any, op: Any, *, is_updated: bool, in_loop: bool) -> WholeRead:
    num_bytes = int(variable.shape.num_elements() or 0) * int(variable.dtype.size)
    place = program_line(op)
    path, _, line = (place or "").rpartition(":")
    at = source_place(path, int(line)) if path else None
    return WholeRead(variable.name.partition(":")[0], num_bytes, at, is_updated, in_loop)
