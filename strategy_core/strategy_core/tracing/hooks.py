"""Hooks on TensorFlow's methods in a traced process.

A hook is a descriptor in the place of a method: looking the method up tells the session, and gives
the method itself. So the program calls no code of the lab, and neither tracebacks nor AutoGraph
see any. Only the outermost calls whose end matters get a wrapper: of functions, of
`Strategy.run` outside of functions, and of iterators.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.recorder.examples import num_examples
from strategy_core.runtime.source_place import place_of_program
from strategy_core.tracing.assigned import watch_variables
from strategy_core.tracing.calls import Call
from strategy_core.tracing.eager_steps import EagerSteps, part_of_step
from strategy_core.tracing.first_graphs import FirstGraphs
from strategy_core.tracing.lookup import Lookup
from strategy_core.tracing.own_profiler import watch_graph_traces, watch_profiler
from strategy_core.tracing.scheduled import watch_coordinators
from strategy_core.tracing.session import Session
from strategy_core.tracing.tracebacks import FOLDER
from strategy_core.tracing.units import Unit

Method = Callable[..., Any]


def install(session: Session) -> None:
    """Install the hooks, for the rest of the process."""
    hooks = _Hooks(session)
    private_tf.leave_out_of_tracebacks(FOLDER, "tensorflow.python.util.traceback_utils")
    if session.is_idle:
        session.keep_graphs(FirstGraphs())
    _FunctionCall(session, private_tf.Function, "__call__")
    Lookup(private_tf.strategy_base(), "run", hooks.strategy_run)
    # Classes and no traits: another program makes the strategy. The other strategies that have a
    # `run` of their own call Strategy.run in it; this one does not.
    Lookup(tf.distribute.TPUStrategy, "run", hooks.strategy_run)
    Lookup(tf.GradientTape, "__enter__", hooks.tape)
    Lookup(tf.GradientTape, "gradient", hooks.gradient)
    for name in ("jacobian", "batch_jacobian"):
        Lookup(tf.GradientTape, name, hooks.jacobian)
    for kind in private_tf.iterator_types():
        _NextBatch(session, kind, "__next__")
    watch_variables(session.assigns)
    watch_profiler(session)
    watch_graph_traces(session)
    watch_coordinators(session)


class _FunctionCall(Lookup):
    """The call of a `tf.function`, looked up in each step of a custom loop as `_NextBatch` is."""

    def __init__(self, session: Session, owner: type, name: str) -> None:
        self._session = session
        super().__init__(owner, name)

    def __get__(self, function: Any, owner: type | None = None) -> Any:
        method = self.__wrapped__.__get__(function, owner)
        session = self._session
        if (
            function is None
            or session.threads.this_thread.call is not None
            or session.faults.is_over
        ):
            return method
        if session.open_calls and _is_in_replica():
            return method
        if (session.fit is not None and session.is_in_fit) or not tf.executing_eagerly():
            return method
        unit = session.units.known.get(weakref.ref(function))
        if unit is None:
            unit = session.units.of(function, private_tf.python_function)
        return functools.partial(outermost_call, session, unit, method)


class _NextBatch(Lookup):
    """The `next` of an iterator."""

    def __init__(self, session: Session, owner: type, name: str) -> None:
        self._session = session
        super().__init__(owner, name)

    def __get__(self, iterator: Any, owner: type | None = None) -> Any:
        method = self.__wrapped__.__get__(iterator, owner)
        session = self._session
        caller = session.threads.this_thread
        if iterator is None or caller.call is not None or caller.is_fetching:
            return method
        if session.is_idle or session.faults.is_over or session.has_scheduled:
            return method
        if session.open_calls and _is_in_replica():
            return method
        if (session.fit is not None and session.is_in_fit) or not tf.executing_eagerly():
            return method
        return functools.partial(_fetch, session, iterator, method)


class _Hooks:
    """What each other looked up method becomes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._eager = EagerSteps(session)

    def strategy_run(self, strategy: Any, method: Method) -> Method:
        session = self._session
        if session.is_off:
            return method
        is_part = session.is_in_call or (session.open_calls and _is_in_replica())
        if is_part or not tf.executing_eagerly():
            session.run(strategy)
            return method
        return functools.partial(_run, session, strategy, method)

    def tape(self, _tape: Any, method: Method) -> Method:
        if self._session.may_step_eagerly and tf.executing_eagerly():
            program = sys._getframe(2)  # of `Lookup.__get__`, which the `with` statement calls
            self._eager.tape_begins(program.f_code, program.f_lineno)
        elif not tf.executing_eagerly():
            self._session.tape_in_graph(sys._getframe(2))
        return method

    def gradient(self, tape: Any, method: Method) -> Method:
        if self._session.may_step_eagerly and tf.executing_eagerly():
            self._eager.gradient_begins(tape)
            return functools.partial(part_of_step, self._eager, False, method)
        self._session.gradient(tape)
        return method

    def jacobian(self, tape: Any, method: Method) -> Method:
        """It computes many gradients, in a `tf.function` of its own that is no step."""
        session = self._session
        if not (session.may_step_eagerly and tf.executing_eagerly()):
            return method
        self._eager.gradient_begins(tape)
        inside = functools.partial(_in_eager_step, session, method)
        return functools.partial(part_of_step, self._eager, False, inside)


def _is_in_replica() -> bool:
    """Whether this thread runs a replica for a call of another one, as MirroredStrategy has it."""
    return tf.distribute.has_strategy() and not tf.distribute.in_cross_replica_context()


def outermost_call(
    session: Session, unit: Unit, method: Method, /, *args: Any, **kwargs: Any
) -> Any:
    """Call what may be a step, or a part of one."""
    call = session.begin_call(unit)
    if call is None:
        return method(*args, **kwargs)
    if unit.num_calls == 1:
        session.look_at_arguments(unit, (args, kwargs))
    try:
        result = method(*args, **kwargs)
    except BaseException as error:
        session.end_call(call, None, error)
        raise
    session.end_call(call, result, None)
    return result


def _in_eager_step(session: Session, method: Method, /, *args: Any, **kwargs: Any) -> Any:
    """Call what calls functions that are no steps."""
    caller = session.this_thread
    call = caller.eager
    if call is None:  # a gradient that is no step either
        call = Call()
        call.unit = Unit("tf.GradientTape", "", is_eager=True)
    caller.call = call
    try:
        return method(*args, **kwargs)
    finally:
        caller.call = None


def _run(session: Session, strategy: Any, method: Method, /, *args: Any, **kwargs: Any) -> Any:
    function = args[0] if args else kwargs.get("fn")
    frame = sys._getframe(1)
    unit = session.unit_of_run(
        function,
        strategy,
        lambda: place_of_program(frame),
        is_graph=isinstance(function, private_tf.Function),
    )
    if unit is None:
        return method(*args, **kwargs)
    return outermost_call(session, unit, method, *args, **kwargs)


def _fetch(session: Session, iterator: Any, method: Method) -> Any:
    fetched = session.begin_fetch(iterator)
    if fetched is None:
        return method()
    try:
        batch = method()
    except BaseException as error:
        session.end_fetch(fetched, None, num_examples, error)
        raise
    session.end_fetch(fetched, batch, num_examples, None)
    return batch
