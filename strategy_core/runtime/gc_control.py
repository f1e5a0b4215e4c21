"""Python's search for unreachable cycles, kept out of what people wait for.

A full one looks at every object of the imports, over a million: 0.3 s and more, at any moment.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager


def leave_imports_alone() -> None:
    """What is there by now stays for good: no search looks at it any more."""
    gc.freeze()


class _Pause:
    """Counts who wants none: the last one to leave puts it back as the first one found it."""

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
    """No search inside, nor while another thread is inside."""
    _pause.enter()
    try:
        yield
    finally:
        _pause.leave()
