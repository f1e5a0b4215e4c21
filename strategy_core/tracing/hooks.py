"""Hooks on TensorFlow's methods in a traced process.

A hook is a descriptor in the place of a method: looking the method up tells the session, and gives
the method itself. So the program calls no code of the lab, and neither tracebacks nor AutoGraph
see any. Only the outermost calls whose end matters get a wrapper: of functions, of
`Strategy.run` outside of functions, and of iterators.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.recorder.examples import num_examples
from strategy_core.tracing.eager_steps import EagerSteps, part_of_step
from strategy_core.tracing.first_graphs import FirstGraphs
from strategy_core.tracing.lookup import Lookup
from strategy_core.tracing.own_profiler import watch_graph_traces, watch_profiler
from strategy_core.tracing.scheduled import watch_coordinators
from strategy_core.tracing.session import Session
from strategy_core.tracing.units import Unit

Method = Callable[..., Any]


def install(session: Session) -> None:
    """Install the hooks, for the rest of the process."""
    hooks = _Hooks(session)
    if session.is_idle:
        session.keep_graphs(FirstGraphs())
    Lookup(private_tf.Function, "__call__", hooks.function_call)
    Lookup(private_tf.strategy_base(), "run", hooks.strategy_run)
    # Classes and no traits: another program makes the strategy. The other strategies that have a
    # `run` of their own call Strategy.run in it; this one does not.
    Lookup(tf.distribute.TPUStrategy, "run", hooks.strategy_run)
    Lookup(tf.GradientTape, "__enter__", hooks.tape)
    Lookup(tf.GradientTape, "gradient", hooks.gradient)
    for kind in private_tf.iterator_types():
        Lookup(kind, "__next__", hooks.next_batch)
    watch_profiler(session)
    watch_graph_traces(session)
    watch_coordinators(session)


class _Hooks:
    """What each looked up method becomes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._eager = EagerSteps(session)

    def function_call(self, function: Any, method: Method) -> Method:
        session = self._session
        if not session.takes_calls or not tf.executing_eagerly():
            return method
        unit = session.units.of(function, private_tf.python_function)
        return functools.partial(outermost_call, session, unit, method)

    def strategy_run(self, strategy: Any, method: Method) -> Method:
        session = self._session
        if session.is_off:
            return method
        if session.is_in_call or not tf.executing_eagerly():
            session.run(strategy)
            return method
        return functools.partial(_run, session, strategy, method)

    def tape(self, _tape: Any, method: Method) -> Method:
        if self._session.may_step_eagerly and tf.executing_eagerly():
            program = sys._getframe(2)  # of `Lookup.__get__`, which the `with` statement calls
            self._eager.tape_begins(program.f_code, program.f_lineno)
        return method

    def gradient(self, tape: Any, method: Method) -> Method:
        if self._session.may_step_eagerly and tf.executing_eagerly():
            self._eager.gradient_begins(tape)
            return functools.partial(part_of_step, self._eager, False, method)
        self._session.gradient(tape)
        return method

    def next_batch(self, iterator: Any, method: Method) -> Method:
        session = self._session
        here = session.here
        is_inner = here.is_fetching or here.scheduled is not None
        if is_inner or session.is_idle or not session.takes_calls or not tf.executing_eagerly():
            return method
        return functools.partial(_fetch, session, iterator, method)


def outermost_call(
    session: Session, unit: Unit, method: Method, /, *args: Any, **kwargs: Any
) -> Any:
    """Call what may be a step, or a part of one."""
    call = session.begin_call(unit)
    if call is None:
        return method(*args, **kwargs)
    try:
        result = method(*args, **kwargs)
    except BaseException as error:
        session.end_call(call, None, error)
        raise
    session.end_call(call, result, None)
    return result


def _run(session: Session, strategy: Any, method: Method, /, *args: Any, **kwargs: Any) -> Any:
    function = args[0] if args else kwargs.get("fn")
    unit = session.unit_of_run(function, strategy)
    if unit is None:
        return method(*args, **kwargs)
    return outermost_call(session, unit, method, *args, **kwargs)


def _fetch(session: Session, iterator: Any, method: Method) -> Any:
    fetched = session.begin_fetch(iterator, num_examples)
    if fetched is None:
        return method()
    try:
        batch = method()
    except BaseException as error:
        session.end_fetch(fetched, None, error)
        raise
    session.end_fetch(fetched, batch, None)
    return batch
