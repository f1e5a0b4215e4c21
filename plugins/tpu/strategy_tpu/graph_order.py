"""Which ops of a traced graph are needed, and in what order they are emitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

_READS = frozenset(("ReadVariableOp", "ResourceGather", "VarIsInitializedOp", "VariableShape"))
"""Stateful according to TensorFlow, but without an effect of their own."""


def emission_order(graph: Any, wanted: Sequence[tf.Tensor]) -> list[tf.Operation]:
    """The ops that `wanted` or a side effect needs, in an order that respects dependencies.

    Otherwise the order is that of creation. Creation order alone is not enough, because the
    gradient of a while loop adds inputs to an existing op. Unused ops are common: an assignment
    inside a TPU cluster is followed by a read of the variable, which XLA would remove.
    """
    live = _live(graph, wanted)
    done: set[int] = set()
    ordered: list[tf.Operation] = []
    for root in graph.get_operations():
        stack = [root] if id(root) in live else []
        while stack:
            op = stack[-1]
            if id(op) in done:
                stack.pop()
                continue
            missing = [need for need in _needs(op) if id(need) in live and id(need) not in done]
            if missing:
                stack += reversed(missing)
            else:
                done.add(id(op))
                ordered.append(op)
                stack.pop()
    return ordered


def _live(graph: Any, wanted: Sequence[tf.Tensor]) -> set[int]:
    stack = [tensor.op for tensor in wanted if tensor.graph is graph]
    stack += [op for op in graph.get_operations() if has_effect(op)]
    live: set[int] = set()
    while stack:
        op = stack.pop()
        if id(op) not in live and op.graph is graph:
            live.add(id(op))
            stack += _needs(op)
    return live


def has_effect(op: tf.Operation) -> bool:
    """Whether an op does something besides computing its outputs."""
    return op.op_def.is_stateful and op.type not in _READS and "Random" not in op.type


def _needs(op: tf.Operation) -> list[tf.Operation]:
    return [tensor.op for tensor in op.inputs] + list(op.control_inputs)
