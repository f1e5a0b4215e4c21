"""The result of a closure, whichever worker gave it in the end.

TensorFlow calls a closure done when it was sent: a result still lies with its worker, and copying
it from one that has just been lost fails, here and in TensorFlow's own thread, which has the
closure done again by another worker. So such an error says nothing yet. What is the closure's own
error is the same object whenever it is asked for; a copy that fails gives a new one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

RETRY_S = 0.1


def fetch(value: Any, pause: Callable[[float], bool]) -> Any:
    """Wait for a closure's result; raises its error.

    Args:
      value: what `ClusterCoordinator.schedule` gave.
      pause: waits so many seconds; True where nobody wants the result any more.
    """
    before: Exception | None = None
    while True:
        try:
            return value.fetch()
        except tf.errors.OpError as error:
            if error is before or pause(RETRY_S):
                raise
            before = error
