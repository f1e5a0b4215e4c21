"""The program's own profiler comes first: `tf.profiler.experimental.start`, TensorBoard's callback.

A process has one profiler. A second start fails, so the recorder's window ends before the program's
start, and none begins until its stop.
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


def _is_ours() -> bool:
    """Whether the recorder calls: the caller of the function that asks."""
    return str(sys._getframe(2).f_globals.get("__name__", "")).startswith(_OURS)
