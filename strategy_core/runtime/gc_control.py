"""Keeps Python's cyclic garbage collection out of latency-sensitive code.

A full collection visits all objects, over a million after the imports. That takes 0.3 s or more, at
any moment.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def leave_imports_alone() -> None:
    """Exempt all existing objects from garbage collection for good, with `gc.freeze`."""
    gc.freeze()


class _Pause:
    """Reference-counted pause of garbage collection; the last caller restores the original
    state."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._num_inside = 0
        self._was_enabled = False

    def enter(self) -> None:
        with self._lock:
            if self._num_inside == 0:
                self._was_enabled = gc.isenabled()
                gc.disable()
            self._num_inside += 1

    def leave(self) -> None:
        with self._lock:
            self._num_inside -= 1
            if self._num_inside == 0 and self._was_enabled:
                gc.enable()


_pause = _Pause()


@contextmanager
def postponed() -> Iterator[None]:
    """Context manager in which garbage collection is off.

    Several threads may overlap; collection resumes when the last one leaves. A flag that each
    thread saves and restores for itself would end the pause of another thread.
    """
    _pause.enter()
    try:
        yield
    finally:
        _pause.leave()
