"""Hooks on `ClusterCoordinator`: steps that the program schedules, and workers do.

`schedule` returns at once and a worker does the step some time later, several workers at a time. So
a step has no begin and end of its own here: all steps between the first `schedule` and the return
of `join`, of the first `done` that is true, or of the `fetch` of the last result, are recorded
together, each with the same part of that time. The first one of a function ends with the `schedule`
that traces it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.runtime.source_place import place_of_program
from strategy_core.tracing.lookup import Lookup
from strategy_core.tracing.session import Session
from strategy_core.tracing.units import Unit

Method = Callable[..., Any]


def watch_coordinators(session: Session) -> None:
    """Install the hooks, for the rest of the process."""
    hooks = _Hooks(session)
    Lookup(tf.distribute.coordinator.ClusterCoordinator, "schedule", hooks.schedule)
    Lookup(tf.distribute.coordinator.ClusterCoordinator, "join", hooks.join)
    Lookup(tf.distribute.coordinator.ClusterCoordinator, "done", hooks.done)


class _Hooks:
    """What each looked up method becomes."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def schedule(self, _coordinator: Any, method: Method) -> Method:
        if self._session.is_off or self._session.is_in_call:
            return method
        return functools.partial(_schedule, self._session, method)

    def join(self, _coordinator: Any, method: Method) -> Method:
        if self._session.is_off or not self._session.num_scheduled:
            return method
        return functools.partial(_join, self._session, method)

    def done(self, _coordinator: Any, method: Method) -> Method:
        if self._session.is_off or not self._session.num_scheduled:
            return method
        return functools.partial(_done, self._session, method)


def _schedule(session: Session, method: Method, /, *args: Any, **kwargs: Any) -> Any:
    function = args[0] if args else kwargs.get("fn")
    unit = _unit(session, function)
    call = None if unit is None else session.begin_schedule(unit)
    if call is None:
        return method(*args, **kwargs)
    value = None
    try:
        value = method(*args, **kwargs)
    finally:
        session.end_schedule(call, value)
    session.safely(lambda: _watch_results(session, type(value)))
    return value


def _watch_results(session: Session, kind: type) -> None:
    """Have the session know when a result is fetched. Its class has no public name."""
    for each in kind.__mro__:
        for name in ("fetch", "get"):
            method = vars(each).get(name)
            if method is not None and not isinstance(method, Lookup):
                Lookup(each, name, functools.partial(_fetching, session))


def _fetching(session: Session, value: Any, method: Method) -> Method:
    if session.is_off or not session.num_scheduled:
        return method
    return functools.partial(_fetch, session, value, method)


def _fetch(session: Session, value: Any, method: Method) -> Any:
    result = method()
    frame = sys._getframe(1)
    session.result_fetched(value, lambda: place_of_program(frame))
    return result


def _join(session: Session, method: Method) -> Any:
    try:
        result = method()
    except BaseException:
        session.end_scheduled(has_failed=True)
        raise
    session.end_scheduled(has_failed=False)
    return result


def _done(session: Session, method: Method) -> Any:
    """A program may ask again and again whether all is done, instead of `join`."""
    is_done = method()
    if is_done:
        session.end_scheduled(has_failed=False)
    return is_done


def _unit(session: Session, function: Any) -> Unit | None:
    """The unit of a scheduled `tf.function`; other functions run eagerly on a worker."""
    if not isinstance(function, private_tf.Function):
        return None
    return session.units.of(function, private_tf.python_function)
