"""Shortens Python's switch interval for a while, for several threads that want it shorter.

The interval of `sys.setswitchinterval` applies to the whole process. A thread that read it while
another had shortened it would restore the shorter one, for good.
"""

from __future__ import annotations

import sys
import threading

_lock = threading.Lock()
_wanted: list[float] = []
_of_program = [0.0]
"""The interval before the first one who wanted another."""


def shorten(seconds: float) -> None:
    """Let threads that run Python release its lock after this time, until `restore`."""
    with _lock:
        if not _wanted:
            _of_program[0] = sys.getswitchinterval()
        _wanted.append(seconds)
        sys.setswitchinterval(min(_of_program[0], *_wanted))


def restore(seconds: float) -> None:
    """End a `shorten` of the same time. An interval that the program has set since then stays."""
    with _lock:
        is_ours = sys.getswitchinterval() <= min(_wanted) * 1.001  # Python rounds to microseconds
        _wanted.remove(seconds)
        if is_ours:
            sys.setswitchinterval(min(_of_program[0], *(_wanted or _of_program)))
