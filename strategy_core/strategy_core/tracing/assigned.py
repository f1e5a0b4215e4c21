"""Which of a program's calls update its variables, if no Keras optimizer shows that.

Most functions that do it compute the gradients as well, and their graph shows it. For the others a
hook on the variables' `assign` tells which call looked it up, while its graph is traced or eagerly.
Only variables that a gradient was computed of are looked at: accumulators are assigned as well.
What doesn't work: to compare the values of the variables. A read of one in the program's call waits
for its device, is watched by its `GradientTape`, and ends a program whose variables are on a mesh.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.tracing.lookup import Lookup
from strategy_core.tracing.units import Unit

_UPDATES = ("Assign", "ResourceApply", "ResourceSparseApply", "ResourceScatter")
_READS = ("ReadVariableOp", "ResourceGather")
_ASSIGN = ("assign", "batch_scatter", "scatter", "_strided_slice_assign")
"""How the names of the methods begin that give a variable another value."""

_watched: dict[int, weakref.ref[Any]] = {}
"""Variables by `id`: they have no hash."""


def watch_variables(assigns: Callable[[], None]) -> None:
    """Install the hooks, for the rest of the process. `assigns` is called before each assignment to
    a variable of gradients."""
    for kind in private_tf.variable_types():
        for name in list(vars(kind)):
            if name.startswith(_ASSIGN) and callable(vars(kind)[name]):
                _Assign(assigns, kind, name)

    def applies(_optimizer: Any, method: Any) -> Any:
        assigns()
        return method

    Lookup(tf.compat.v1.train.Optimizer, "apply_gradients", applies)


class _Assign(Lookup):
    """A method that gives a variable another value, looked up for each one in an eager step."""

    def __init__(self, assigns: Callable[[], None], owner: type, name: str) -> None:
        self._assigns = assigns
        super().__init__(owner, name)

    def __get__(self, variable: Any, owner: type | None = None) -> Any:
        if id(variable) in _watched:
            self._assigns()
        return self.__wrapped__.__get__(variable, owner)


def watched_variables(tape: Any) -> list[weakref.ref[Any]]:
    """Weak references to the variables that a `GradientTape` watches, which are looked at from now
    on."""
    variables = [each for variable in tape.watched_variables() for each in _copies(variable)]
    return [_watch(each) for each in variables]


def _watch(variable: Any) -> weakref.ref[Any]:
    number = id(variable)
    if number not in _watched:
        _watched[number] = weakref.ref(variable, lambda _: _watched.pop(number, None))
    return _watched[number]


def updates_in_graph(unit: Unit) -> bool:
    """Whether an op of the graph that was traced last changes a variable of the gradients.

    The ops of functions and loops inside it are not looked at.
    """
    graph = unit.live_graph
    if graph is None:
        return False
    handles = set(_handles(unit.variables or ()))
    inside = {id(inner) for outer, inner in graph.captures if id(outer) in handles}
    return bool(inside) and any(
        op.type.startswith(_UPDATES) and id(op.inputs[0]) in inside for op in graph.get_operations()
    )


def updates_by_itself(unit: Unit) -> bool:
    """Whether the graph that was traced last gives a floating-point variable a value that it
    computes from the value before, as a step does whose gradients are written by hand.

    A metric adds to what it holds without reading it, and a counter is no floating-point number.
    """
    graph = unit.live_graph
    return graph is not None and any(
        op.type.startswith(_UPDATES)
        and len(op.inputs) > 1
        and op.inputs[-1].dtype.is_floating
        and _is_read_for(op.inputs[0], op.inputs[1:])
        for op in graph.get_operations()
    )


def _is_read_for(handle: Any, tensors: Iterable[Any]) -> bool:
    """Whether an op that these tensors are computed from reads the variable."""
    waiting, seen = list(tensors), set[int]()
    while waiting:
        op = waiting.pop().op
        if id(op) in seen:
            continue
        seen.add(id(op))
        if op.type.startswith(_READS) and op.inputs[0] is handle:
            return True
        waiting.extend(op.inputs)
    return False


def _copies(variable: Any) -> Iterable[Any]:
    """A variable's copies, each on its device."""
    return getattr(variable, "values", None) or (variable,)


def _handles(variables: Iterable[weakref.ref[Any]]) -> Iterable[int]:
    for each in variables:
        handle = getattr(each(), "handle", None)
        if handle is not None:
            yield id(handle)
