"""Hooks on Keras: the batches of `fit`, reported by its list of callbacks.

A callback of the lab's own would be visible to the program, and Keras calls callbacks from another
thread where all of them allow it. So the methods of Keras's list itself report, in the thread
that trains.
"""

from __future__ import annotations

import functools
import sys
import time
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import tracing as private_tf
from strategy_core.recorder.examples import num_examples
from strategy_core.runtime.source_place import place_of_program
from strategy_core.tracing.eager_steps import EagerSteps, part_of_step
from strategy_core.tracing.fit import Fit
from strategy_core.tracing.hooks import outermost_call
from strategy_core.tracing.lookup import Lookup
from strategy_core.tracing.session import Session
from strategy_core.tracing.tracebacks import FOLDER

Method = Callable[..., Any]


def install(session: Session) -> None:
    """Install the hooks, for the rest of the process. Called once Keras is imported."""
    hooks = _Hooks(session)
    private_tf.leave_out_of_tracebacks(FOLDER, "keras.src.utils.traceback_utils")
    kind = sys.modules["keras"].callbacks.CallbackList
    for phase in ("train", "test", "predict"):
        Lookup(kind, f"on_{phase}_begin", functools.partial(hooks.begin, phase))
        Lookup(kind, f"on_{phase}_end", functools.partial(hooks.end, phase))
    Lookup(kind, "on_epoch_begin", hooks.epoch_begin)
    Lookup(kind, "on_epoch_end", hooks.epoch_end)
    Lookup(kind, "on_train_batch_begin", hooks.batch_begin)
    Lookup(kind, "on_train_batch_end", hooks.batch_end)
    if (iterator := private_tf.epoch_iterator_type()) is not None:
        Lookup(iterator, "reset", hooks.epoch_iterator)
    model = sys.modules["keras"].Model
    owner = next(each for each in model.__mro__ if "train_on_batch" in vars(each))
    Lookup(owner, "train_on_batch", hooks.train_on_batch)
    for owner in private_tf.optimizer_types():
        Lookup(owner, "apply", hooks.apply)


class _Hooks:
    """What each looked up method becomes."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._eager = EagerSteps(session)
        self._fits: dict[weakref.ref[Any], Fit] = {}
        """By weak references to Keras's lists, for which a look-up runs no Python code."""

    def apply(self, optimizer: Any, method: Method) -> Method:
        session = self._session
        if session.may_step_eagerly and session.this_thread.eager is not None:
            return functools.partial(part_of_step, self._eager, True, method)
        is_outermost = session.may_step_eagerly and tf.executing_eagerly()
        if is_outermost and session.has_other_steps:
            unit = session.units.of_optimizer(optimizer)
            return functools.partial(outermost_call, session, unit, method)
        session.applies(optimizer)
        return method

    def train_on_batch(self, model: Any, method: Method) -> Method:
        session = self._session
        if session.is_off or session.is_in_call:
            return method
        return functools.partial(_train_on_batch, session, model, method)

    def epoch_iterator(self, iterator: Any, method: Method) -> Method:
        self._session.this_thread.epoch_iterator = weakref.ref(iterator)
        return method

    def begin(self, phase: str, callbacks: Any, method: Method) -> Method:
        if not self._session.is_off:
            fit = self._fits.get(weakref.ref(callbacks))
            if fit is None:
                fit = self._fits[weakref.ref(callbacks, self._forget)] = Fit(
                    self._session, callbacks
                )
            fit.begin(phase)
        return method

    def _forget(self, callbacks: weakref.ref[Any]) -> None:
        self._fits.pop(callbacks, None)

    def end(self, phase: str, callbacks: Any, method: Method) -> Method:
        if (fit := self._fits.get(weakref.ref(callbacks))) is not None:
            fit.end(phase)
        return method

    def epoch_begin(self, callbacks: Any, method: Method) -> Method:
        if (fit := self._fits.get(weakref.ref(callbacks))) is not None:
            fit.epoch_begin()
        return method

    def epoch_end(self, callbacks: Any, method: Method) -> Method:
        if (fit := self._fits.get(weakref.ref(callbacks))) is not None:
            fit.epoch_end()
        return method

    def batch_begin(self, callbacks: Any, method: Method) -> Method:
        fit = self._fits.get(weakref.ref(callbacks))
        return method if fit is None else functools.partial(_batch_begin, fit, method)

    def batch_end(self, callbacks: Any, method: Method) -> Method:
        fit = self._fits.get(weakref.ref(callbacks))
        now_ns = time.monotonic_ns()  # the batch has just ended
        return method if fit is None else functools.partial(_batch_end, fit, now_ns, method)


def _train_on_batch(
    session: Session, model: Any, method: Method, /, *args: Any, **kwargs: Any
) -> Any:
    """Call `train_on_batch`, which is a step. Keras gives each replica all of its batch."""
    unit = session.units.known.get(weakref.ref(model))
    if unit is None:
        place = place_of_program(sys._getframe(1))
        unit = session.units.of_method(model, "train_on_batch", place)
        unit.strategy = getattr(model, "distribute_strategy", None) or tf.distribute.get_strategy()
    batch = args[0] if args else kwargs.get("x")
    is_divided = isinstance(batch, tf.distribute.DistributedValues)
    unit.undivided = None if is_divided else num_examples(batch)
    return outermost_call(session, unit, method, *args, **kwargs)


def _batch_begin(fit: Fit, method: Method, batch: int, logs: Any = None) -> Any:
    result = method(batch, logs=logs)
    fit.batch_begin(batch)
    return result


def _batch_end(fit: Fit, now_ns: int, method: Method, batch: int, logs: Any = None) -> Any:
    fit.batch_end(batch, logs, now_ns)
    return method(batch, logs=logs)
