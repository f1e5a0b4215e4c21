"""Finds the exception that ends a Keras `fit`, which Keras passes to no callback.

A callback sees neither the exception nor the end of `fit`. What `fit` calls is therefore watched
while it runs: the train function, the evaluation, and the methods of all callbacks. An exception
elsewhere, such as Ctrl-C between two of these calls, is found only if nothing catches it. Things
that do not work: replacing the model's `fit` (Python has looked it up before it makes the
callback), and waiting until the list of callbacks is freed (the exception is gone by then).
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import keras
import tensorflow as tf

from strategy_core.runtime.uncaught import when_uncaught

_END_OF_DATA = (StopIteration, tf.errors.OutOfRangeError)
"""With these, Keras ends the epoch."""
_CALLED_BY_FIT = [name for name in vars(keras.callbacks.CallbackList) if name.startswith("on_")]


class FitError:
    """Calls `report` with the exception that ends the `fit` whose callbacks begin to run.

    Args:
      model: the model that is trained.
      report: called at most once, while the exception is on its way.
      ran_out: called with the exception that says that there is no batch for the step that began.
    """

    def __init__(
        self,
        model: keras.Model,
        report: Callable[[BaseException], None],
        ran_out: Callable[[BaseException], None],
    ) -> None:
        self._report = report
        self._ran_out = ran_out
        self._thread = threading.current_thread()
        self._undo = ExitStack()
        self._undo.callback(when_uncaught(self._uncaught))
        for name in ("train_function", "evaluate"):
            self._watch(model, name)
        if (callbacks := _callbacks_of_fit()) is not None:
            for name in _CALLED_BY_FIT:
                self._watch(callbacks, name)

    def close(self) -> None:
        """Stop watching: `fit` is over."""
        self._undo.close()

    def _uncaught(self, error: BaseException) -> None:
        if threading.current_thread() is self._thread:  # `fit` may go on in another thread
            self._raised(error)

    def _raised(self, error: BaseException) -> None:
        self.close()
        self._report(error)

    def _watch(self, owner: Any, name: str) -> None:
        real, is_own = getattr(owner, name), name in vars(owner)

        def watched(*args: Any, **kwargs: Any) -> Any:
            try:
                return real(*args, **kwargs)
            except _END_OF_DATA as error:
                self._ran_out(error)
                raise
            except BaseException as error:
                self._raised(error)
                raise

        def restore() -> None:
            if vars(owner).get(name) is not watched:
                return  # the program has replaced it since
            if is_own:
                setattr(owner, name, real)
            else:
                delattr(owner, name)

        setattr(owner, name, watched)
        self._undo.callback(restore)


def _callbacks_of_fit() -> keras.callbacks.CallbackList | None:
    """Return Keras's list of all callbacks, a method of which is running in this thread.

    Keras passes it to no callback, so it is looked for among the callers.
    """
    frame = inspect.currentframe()
    while frame is not None:
        caller = frame.f_locals.get("self")
        if isinstance(caller, keras.callbacks.CallbackList):
            return caller
        frame = frame.f_back
    return None
