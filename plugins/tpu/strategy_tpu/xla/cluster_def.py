"""A traced TPU cluster as a GraphDef of one replica for XLA's bridge.

Ops that exist only on a TPU are replaced by ops with the same types and shapes. So are ops that a
TPU runs on its host (`_stubs`): XLA then sees a value with a known shape but unknown content.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import tensorflow as tf

from strategy_tpu import private_tf
from strategy_tpu.cloning import function_names
from strategy_tpu.graph_order import emission_order
from strategy_tpu.xla.kernels import TPU_ONLY

GUESSED_SIZE = 8
"""Replaces a size that depends on data, such as that of a partial batch."""

_KEPT_PRIVATE_ATTRS = frozenset(("_num_original_outputs", "_read_only_resource_inputs"))
DROPPED = frozenset(
    (
        "Assert",  # XLA drops it, and its message would need strings
        "TPUCompilationResult",
        "TPUReplicateMetadata",
        "TPUReplicatedOutput",
    )
)
"""Ops that TensorFlow removes before XLA compiles the program."""

_READS = frozenset(("ReadVariableOp",))
"""XLA for CPUs treats a variable's value as constant if it needs one; XLA for TPUs does not."""

_FIRST_OF = frozenset(("TPUReplicatedInput", "TPUPartitionedInput", "TPUPartitionedInputV2"))


_attempts = count()


class NotLowerableError(Exception):
    """The cluster cannot be converted for XLA; the message says why."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The cluster's own graph, or the body of a function that it calls."""

    name: str
    """Empty for the cluster's own graph."""
    ops: Mapping[str, tf.Operation]
    """The needed ops, by name."""


class ClusterDef:
    """The cluster's graph and the functions that it calls, with the needed ops of each."""

    def __init__(self, cluster: Any, outer: Any, outputs: Sequence[tf.Tensor]) -> None:
        self.cluster = cluster
        self._outer = outer
        self.scopes: dict[str, Scope] = {}
        self._add("", cluster, emission_order(cluster, outputs))
        self.definition = cluster.as_graph_def()
        self.functions = {each.signature.name: each for each in self.definition.library.function}

    def _add(self, name: str, graph: Any, needed: Iterable[tf.Operation]) -> None:
        ops = {op.name: op for op in needed}
        self.scopes[name] = Scope(name, ops)
        for op in ops.values():
            for called in (*function_names(op.node_def.attr), op.type):
                if called in self.scopes:
                    continue
                function = private_tf.find_function(called, (graph, self.cluster, self._outer))
                if function is not None:
                    body = private_tf.body_of(function)
                    self._add(called, body, emission_order(body, body.outputs))

    def nodes(self) -> Iterator[tuple[Scope, Any]]:
        """Every needed NodeDef, with its scope: of the graph those marked as the cluster's."""
        top = self.scopes[""]
        for node in self.definition.node:
            if node.name in top.ops and "_tpu_replicate" in node.attr and node.op not in DROPPED:
                yield top, node
        for name, function in self.functions.items():
            scope = self.scopes.get(name)
            for node in function.node_def if scope else ():
                if scope and node.name in scope.ops and node.op not in DROPPED:
                    yield scope, node

    def find(self, name: str) -> tuple[Scope, tf.Operation] | None:
        """The op that XLA calls `name` in a message, possibly prefixed with its callers' names."""
        for scope in self.scopes.values():
            if name in scope.ops:
                return scope, scope.ops[name]
        for scope in self.scopes.values():
            for own, op in scope.ops.items():
                if name.endswith("/" + own):
                    return scope, op
        return None

    def output_names(self) -> list[str]:
        """Names of the cluster's output tensors."""
        return [
            op.inputs[0].name
            for op in self.scopes[""].ops.values()
            if op.type == "TPUReplicatedOutput"
        ]

    def lowerable(self, stubbed: Mapping[str, set[str]]) -> Any:
        """A GraphDef for XLA in which the ops `stubbed` (by scope and name) are replaced."""
        graph = tf.compat.v1.GraphDef()
        graph.versions.CopyFrom(self.definition.versions)
        # Unique names, because TensorFlow would keep an existing function of the same name.
        suffix = f"_checked_{next(_attempts)}"
        rewriter = _Rewriter(self.scopes, "", stubbed.get("", set()), suffix)
        graph.node.extend(rewriter.nodes(self.definition.node))
        for name, function in self.functions.items():
            if name not in self.scopes:
                continue
            rewriter = _Rewriter(self.scopes, name, stubbed.get(name, set()), suffix)
            new = graph.library.function.add()
            new.CopyFrom(function)
            new.signature.name += suffix
            del new.node_def[:]
            new.node_def.extend(rewriter.nodes(function.node_def))
            for key, source in function.ret.items():
                new.ret[key] = rewriter.renamed(source)
            for key in [k for k, node in function.control_ret.items() if rewriter.is_removed(node)]:
                del new.control_ret[key]
                new.signature.control_output.remove(key)
        return graph


class _Rewriter:
    """Rewrites the NodeDefs of one graph or function body."""

    def __init__(
        self, scopes: Mapping[str, Scope], name: str, stubbed: set[str], suffix: str
    ) -> None:
        """For the scope `name`. Functions are called by their names with `suffix` appended."""
        self._scopes = scopes
        self._scope = scopes[name]
        self._stubbed = stubbed
        self._suffix = suffix
        self._is_function = bool(name)
        self._removed: set[str] = set()
        self._placeholders: set[str] = set()
        self._new_names: dict[str, str] = {}

    def nodes(self, nodes: Sequence[Any]) -> list[Any]:
        kept: list[Any] = []
        for node in nodes:
            if node.op == "Placeholder":
                self._placeholders.add(node.name)
            elif not self._is_for_xla(node):
                self._removed.add(node.name)
            elif node.name in self._stubbed or node.op in _READS or self._changes_shape(node):
                self._removed.add(node.name)
                kept += self._stubs(node)
            else:
                kept.append(self._copied(node))
        for node in kept:
            inputs = [self.renamed(source) for source in node.input if not self._is_moot(source)]
            del node.input[:]
            node.input.extend(inputs)
        return kept

    def _is_for_xla(self, node: Any) -> bool:
        if node.op in DROPPED or _is_text(node) or node.name not in self._scope.ops:
            return False
        return self._is_function or "_tpu_replicate" in node.attr or node.op in _FIRST_OF

    def is_removed(self, name: str) -> bool:
        """Whether the node `name` was removed."""
        return name in self._removed or name in self._placeholders

    def renamed(self, source: str) -> str:
        """A reference to a tensor or, with `^`, to an op; to its stub if it has one."""
        if source in self._new_names:
            return self._new_names[source]
        if source.split(":", 1)[0] in self._removed:
            raise NotLowerableError(f"the value of {source} has no type that XLA knows")
        return source

    def _is_moot(self, source: str) -> bool:
        return source.startswith("^") and self.is_removed(source[1:])

    def _copied(self, node: Any) -> Any:
        new = tf.compat.v1.NodeDef(name=node.name, op=node.op, input=node.input)
        for key, value in node.attr.items():
            if not key.startswith("_") or key in _KEPT_PRIVATE_ATTRS:
                new.attr[key].CopyFrom(value)
        for value in new.attr.values():
            for function in [value.func] if value.HasField("func") else value.list.func:
                function.name += self._suffix if function.name in self._scopes else ""
        if node.op in self._scopes:
            new.op += self._suffix
        if node.op in _FIRST_OF or node.op in TPU_ONLY:
            self._become_identity(new, node.attr["T"].type)
        return new

    def _become_identity(self, new: Any, datatype: int) -> None:
        new.op = "Identity"
        new.attr.clear()
        new.attr["T"].type = datatype
        del new.input[1:]

    def _changes_shape(self, node: Any) -> bool:
        """Whether a node is an exchange between replicas that no Identity can replace."""
        if node.op not in TPU_ONLY:
            return False
        op = self._scope.ops[node.name]
        return bool(op.outputs[0].shape.as_list() != op.inputs[0].shape.as_list())

    def _stubs(self, node: Any) -> Iterator[Any]:
        """For each output, a value of the same type and shape that XLA cannot fold."""
        op = self._scope.ops.get(node.name)
        for index, output in enumerate(op.outputs if op is not None else ()):
            if output.dtype in (tf.string, tf.resource, tf.variant):
                continue  # the readers of such a value run on the host, too
            if output.shape.rank is None:
                raise NotLowerableError(
                    f"{node.name} runs on the host and its result has no known rank"
                )
            name = f"{node.name}/stub_{index}"
            yield from _random(name, output.dtype, output.shape, self._is_function)
            for source in self._references(op, index):
                self._new_names[source] = f"{name}:y:0" if self._is_function else name

    def _references(self, op: tf.Operation, index: int) -> list[str]:
        """References to an output: `name:argument:i` in a function, else `name:index`."""
        if not self._is_function:
            return [f"{op.name}:{index}"] + ([op.name] if index == 0 else [])
        at = 0
        for argument in op.op_def.output_arg:
            size = 1
            if argument.number_attr:
                size = op.get_attr(argument.number_attr)
            elif argument.type_list_attr:
                size = len(op.get_attr(argument.type_list_attr))
            if index < at + size:
                return [f"{op.name}:{argument.name}:{index - at}"]
            at += size
        return []


def _is_text(node: Any) -> bool:
    """Whether a node is a string constant, which only ops on the host read."""
    return bool(node.op == "Const" and node.attr["dtype"].type == tf.string.as_datatype_enum)


def known_shape(shape: tf.TensorShape) -> list[int]:
    """A shape with `GUESSED_SIZE` for unknown sizes."""
    return [GUESSED_SIZE if size is None else size for size in shape]


def _random(name: str, dtype: tf.DType, shape: tf.TensorShape, in_function: bool) -> Iterator[Any]:
    """Nodes that compute a random value under `name`, which a compiler cannot fold to a
    constant."""
    make = tf.compat.v1.NodeDef
    size = make(name=f"{name}/shape", op="Const")
    size.attr["dtype"].type = tf.int32.as_datatype_enum
    value = tf.make_tensor_proto(known_shape(shape), dtype=tf.int32)
    size.attr["value"].tensor.CopyFrom(value)
    yield size
    drawn = make(name=f"{name}/random", op="RandomUniform")
    drawn.input.append(f"{size.name}:output:0" if in_function else size.name)
    drawn.attr["T"].type = tf.int32.as_datatype_enum
    drawn.attr["dtype"].type = tf.float32.as_datatype_enum
    yield drawn
    cast = make(name=name, op="Cast")
    cast.input.append(f"{drawn.name}:output:0" if in_function else drawn.name)
    cast.attr["SrcT"].type = tf.float32.as_datatype_enum
    cast.attr["DstT"].type = dtype.as_datatype_enum
    yield cast
