"""Shortens Python's switch interval for a while, for several threads that want it shorter.

The interval of `sys.setswitchinterval` applies to the whole process. A thread that read it while
another had shortened it would restore the shorter one, for good.
"""

from __future__ import annotations

import os
import sys
import threading


class _SwitchInterval:
    """The intervals that threads want, in seconds, and that of the program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wanted: list[float] = []
        self._of_program = sys.getswitchinterval()
        """The interval before the first one who wanted another."""

    def shorten(self, seconds: float) -> None:
        """Let threads that run Python release its lock after this time, until `restore`."""
        with self._lock:
            if not self._wanted:
                self._of_program = sys.getswitchinterval()
            self._wanted.append(seconds)
            sys.setswitchinterval(min(self._of_program, *self._wanted))

    def restore(self, seconds: float) -> None:
        """End a `shorten` of the same time. An interval that the program has set since stays."""
        with self._lock:
            is_ours = sys.getswitchinterval() <= min(self._wanted) * 1.001  # Python rounds it
            self._wanted.remove(seconds)
            if is_ours:
                sys.setswitchinterval(min([self._of_program, *self._wanted]))

    def start_over(self) -> None:
        """Restore the program's interval in a forked child.

        The child has a copy of a shortened interval, but not the thread that would restore it.
        """
        if self._wanted:
            sys.setswitchinterval(self._of_program)
        self._lock, self._wanted = threading.Lock(), []


_of_process = _SwitchInterval()
shorten, restore = _of_process.shorten, _of_process.restore
os.register_at_fork(after_in_child=_of_process.start_over)
