"""The program's own profiler and graph traces come first.

A process has one profiler. A second start fails, so the recorder's window ends before the program's
start, and none begins until its stop. The runtime gives the graphs that it collects to the first
caller that exports them, and the end of one caller's collection is the end for all. So the recorder
collects none while `tf.summary.trace_on` is on.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.tracing.session import Session

_OURS = "strategy_core."


def watch_profiler(session: Session) -> None:
    """Have the session know when the program starts and stops the profiler."""
    module = private_tf.profiler_module()
    owners = [tf.profiler.experimental, *([] if module is None else [module])]
    start, stop = owners[-1].start, owners[-1].stop
    for owner in owners:
        owner.start = _started(session, start)
        owner.stop = _stopped(session, stop)


def watch_graph_traces(session: Session) -> None:
    """Have the session know when the program collects graphs with `tf.summary`."""
    summary: Any = tf.summary
    summary.trace_on = _traced_on(session, summary.trace_on)
    summary.trace_off = _traced_off(session, summary.trace_off)
    summary.trace_export = _traced_off(session, summary.trace_export)


def _started(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def start(*args: Any, **kwargs: Any) -> Any:
        if not _is_ours():
            session.profiler_begins()
        return function(*args, **kwargs)

    return start


def _stopped(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def stop(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        finally:
            if not _is_ours():
                session.profiler_ended()

    return stop


def _traced_on(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def trace_on(*args: Any, **kwargs: Any) -> Any:
        # TensorFlow refuses with a warning elsewhere, and nothing would end
        if tf.executing_eagerly() and not _is_ours():
            session.graph_trace_begins()
        return function(*args, **kwargs)

    return trace_on


def _traced_off(session: Session, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def trace_off(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)  # an export that raises leaves the trace on
        if not _is_ours():
            session.graph_trace_ended()
        return result

    return trace_off


def _is_ours() -> bool:
    """Whether the recorder calls: the caller of the function that asks."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith(_OURS)
