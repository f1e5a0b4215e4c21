"""What is known of each function that the program calls: whether a call of it is a step."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from strategy_core.runtime.source_place import source_place


class Unit:
    """A `tf.function`, a function that runs eagerly in `strategy.run`, or an eager tape."""

    def __init__(
        self, name: str, line: str, *, is_eager: bool = False, is_compiled: bool = False
    ) -> None:
        self.name = name
        self.is_eager = is_eager
        """Whether it is the place of a tape outside of functions."""
        self.is_compiled = is_compiled
        """Whether XLA compiles it as a whole."""
        self.line = line
        """`train.py:34`, where it is defined; empty if that is unknown."""
        self.trains = False
        """Whether it computes gradients: a call of it is then a step."""
        self.runs_replicas = False
        """Whether it calls `strategy.run`."""
        self.may_loop = False
        """Whether one call may do several steps: replicas or gradients in a loop, or repeatedly."""
        self.run_at = ""
        """The line that calls `strategy.run` with it outside of functions, if it is no
        `tf.function`: Python runs it for each replica."""
        self.num_calls = 0
        self.returns_loss: bool | None = None
        """Whether it returns one floating-point number; None before its first call."""
        self.graph: Any = None
        """Weak reference to the graph that was traced last."""
        self.num_gradients = 0
        """Calls of `gradient` in that graph."""
        self.variables: list[weakref.ref[Any]] | None = None
        """Some variables that it computes gradients of; None before it has computed any."""
        self.is_update = False
        """Whether the variables have changed during a call of it, as far as that was looked at."""
        self.undivided: int | None = None
        """Examples of a batch that each replica gets as a whole; None if it is divided, or if that
        is not known."""
        self.unlike: str | None = None
        """The shapes of a tensor that differ among the replicas in its first call, in words."""
        self.shared: tuple[Any, ...] = ()
        """Tensors that two replicas got in the trace that goes on."""
        self._replica_gets: tuple[tuple[int, ...], int] = ((), 0)
        """Identities of the tensors that a replica got in a trace, and the replica's thread."""
        self._strategy: weakref.ref[Any] | None = None
        self.optimizers: list[weakref.ref[Any]] = []

    @property
    def strategy(self) -> Any:
        return None if self._strategy is None else self._strategy()

    @strategy.setter
    def strategy(self, strategy: Any) -> None:
        self._strategy = weakref.ref(strategy)

    @property
    def live_graph(self) -> Any:
        """The graph that was traced last; None if there is none, or if it is gone."""
        return None if self.graph is None else self.graph()

    @property
    def optimizer(self) -> Any:
        """The first optimizer that the function applies; None without one."""
        return next(
            (optimizer for ref in self.optimizers if (optimizer := ref()) is not None), None
        )

    def applies(self, optimizer: Any) -> None:
        if all(ref() is not optimizer for ref in self.optimizers):
            self.optimizers.append(weakref.ref(optimizer))

    def replica_gets(self, tensors: Sequence[Any]) -> None:
        """Note which tensors the calling thread's replica gets while the function is traced."""
        before, thread = self._replica_gets
        self._replica_gets = tuple(map(id, tensors)), threading.get_ident()
        if before == self._replica_gets[0] and thread != threading.get_ident():
            self.shared = tuple(tensors)

    def gradient_in(self, graph: Any) -> None:
        """Note a call of `gradient` while `graph` is built."""
        if self.graph is None or self.graph() is not graph:
            self.graph, self.num_gradients = weakref.ref(graph), 0
        self.num_gradients += 1


class Units:
    """The units of a process, by function. They live as long as their functions."""

    def __init__(self) -> None:
        self.known: dict[weakref.ref[Any], Unit] = {}
        """By weak references, for which a look-up runs no Python code."""
        self._of_code: dict[tuple[Any, weakref.ref[Any]], Unit] = {}

    def of(self, function: Any, python_function: Callable[[Any], Any]) -> Unit:
        """The unit of a function; `python_function` returns what has its name and code."""
        unit = self.known.get(weakref.ref(function))
        if unit is None:
            from strategy_core.private_tf.tracing import is_compiled  # imports TensorFlow

            name, line = _described(python_function(function))
            unit = self._add(function, Unit(name, line, is_compiled=is_compiled(function)))
        return unit

    def of_code(self, function: Any, strategy: Any) -> Unit | None:
        """The unit of a Python function that a strategy runs; None for other callables.

        A program may define it again in each step, and each then has the same code.
        """
        code = getattr(function, "__code__", None)
        if code is None:
            return None
        key = (code, weakref.ref(strategy))
        if key not in self._of_code:
            self._of_code[key] = Unit(*_described(function))
        return self._of_code[key]

    def of_method(self, owner: Any, name: str, place: str) -> Unit:
        """The unit of a method of an object of the program, such as a Keras model."""
        unit = self.known.get(weakref.ref(owner))
        return self._add(owner, Unit(name, place)) if unit is None else unit

    def of_optimizer(self, optimizer: Any) -> Unit:
        """The unit of a Keras optimizer that the program applies outside of its functions."""
        unit = self.known.get(weakref.ref(optimizer))
        if unit is None:
            unit = self._add(optimizer, Unit(f"{type(optimizer).__name__}.apply", ""))
            unit.applies(optimizer)
        return unit

    def _add(self, owner: Any, unit: Unit) -> Unit:
        self.known[weakref.ref(owner, self._forget)] = unit
        return unit

    def _forget(self, owner: weakref.ref[Any]) -> None:
        self.known.pop(owner, None)


def _described(function: Any) -> tuple[str, str]:
    function = inspect.unwrap(function)  # a method of an object is wrapped by TensorFlow
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    name = str(getattr(function, "__name__", None) or type(function).__name__)
    if code is None:
        return name, ""
    return name, source_place(code.co_filename, code.co_firstlineno)
