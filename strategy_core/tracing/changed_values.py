"""Whether a program's variables have changed: which of its calls updates them.

A call of a Keras optimizer is seen, but a program may also update its variables by itself. Most of
these do so in the function that computes the gradients, whose graph shows it. For others the values
are compared, only until the program's step is known: a read makes a tensor, and TensorFlow counts
these in the names of functions. What doesn't work: a hook on `assign` (it has no public class, and
accumulators are assigned as well).
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from strategy_core.tracing.units import Unit

_MOST_VARIABLES = 4
_MOST_NUMBERS = 1 << 20
"""Larger variables are not read: that would take time and memory of the program."""
_UPDATES = ("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter")
_UNREADABLE = (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError)


def smallest_variables(tape: Any) -> list[weakref.ref[Any]]:
    """Return weak references to the smallest variables that a `GradientTape` watches."""
    sizes = [(_num_numbers(variable), variable) for variable in tape.watched_variables()]
    small = sorted((item for item in sizes if item[0]), key=lambda item: item[0])
    return [weakref.ref(variable) for _, variable in small[:_MOST_VARIABLES]]


def updates_in_graph(unit: Unit) -> bool:
    """Whether an op of the graph that was traced last changes a variable of the gradients.

    The ops of functions and loops inside it are not looked at.
    """
    graph: Any = unit.graph() if unit.graph is not None else None
    if graph is None:
        return False
    handles = {id(handle) for each in unit.variables or () for handle in _handles(each())}
    inside = {id(inner) for outer, inner in graph.captures if id(outer) in handles}
    return bool(inside) and any(
        op.type.startswith(_UPDATES) and id(op.inputs[0]) in inside for op in graph.get_operations()
    )


class ChangedValues:
    """The values that some variables had when they were first read."""

    def __init__(self) -> None:
        self._values: list[tuple[weakref.ref[Any], Any]] = []

    def remember(self, variables: Iterable[weakref.ref[Any]]) -> bool:
        """Read the variables, if not done before. Returns whether any could be read."""
        if not self._values:
            read = [(each, _read(each)) for each in variables]
            self._values = [(each, value) for each, value in read if value is not None]
        return bool(self._values)

    def have_changed(self) -> bool:
        """Whether a variable has another value than the one that was remembered."""
        for variable, before in self._values:
            now = _read(variable)
            if now is not None and not np.array_equal(before, now):
                return True
        return False


def _num_numbers(variable: Any) -> int:
    """How many numbers a variable has; 0 if it is not read."""
    count = tf.TensorShape(variable.shape).num_elements()
    return count if count is not None and count <= _MOST_NUMBERS else 0


def _handles(variable: Any) -> list[Any]:
    """The resource of each copy of a variable; none of a variable that is gone."""
    copies = getattr(variable, "values", None) or (variable,)
    return [copy.handle for copy in copies if hasattr(copy, "handle")]


def _read(reference: weakref.ref[Any]) -> Any:
    """A copy of a variable's value; None if it cannot be read, as one of a lost process."""
    variable = reference()
    if variable is None:
        return None
    try:
        return np.array(variable.numpy())
    except (*_UNREADABLE, tf.errors.OpError):
        return None
