"""Recognises errors that the end of another process caused."""

from __future__ import annotations

import sys


def is_about_lost_peer(error: BaseException) -> bool:
    """Return whether TensorFlow raises such an error in a worker whose peer has ended.

    A process that has not imported TensorFlow has no such error, and does not import it here.
    """
    if "tensorflow" not in sys.modules:
        return False
    from tensorflow import errors

    return isinstance(
        error,
        (
            errors.UnavailableError,
            errors.AbortedError,
            errors.CancelledError,
            errors.DeadlineExceededError,
        ),
    )
