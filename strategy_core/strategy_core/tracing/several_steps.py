"""How many steps of the program one call does: what its optimizer has counted."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.tracing.values import read_variable

_OF_GRADIENTS = re.compile(r"(?:^|/)gradients(?:_\d+)?/")


def outermost_graph() -> Any:
    """The graph of the outermost function that is being traced; None outside of one."""
    chain = _graphs()
    return chain[-1] if chain else None


def is_in_loop() -> bool:
    """Whether the ops that are being traced belong to the body of a loop on the device."""
    return any(private_tf.is_loop_body(graph) for graph in _graphs())


def has_gradients() -> bool:
    """Whether `tf.gradients` has made ops of a graph that is being traced: it puts them into a name
    scope of its own, and a `GradientTape` into another."""
    return any(
        _OF_GRADIENTS.search(op.name) for graph in _graphs() for op in graph.get_operations()
    )


def iterations(optimizer: Any) -> int | None:
    """Updates that an optimizer has done; None if it does not tell."""
    held = getattr(optimizer, "iterations", None)
    value = None if held is None else read_variable(held)
    return None if value is None or value.size != 1 else int(value)


def _graphs() -> list[Any]:
    """The graphs that are being built, innermost first."""
    graph = tf.compat.v1.get_default_graph() if not tf.executing_eagerly() else None
    graphs = []
    while graph is not None and hasattr(graph, "outer_graph"):
        graphs.append(graph)
        graph = graph.outer_graph
    return graphs
