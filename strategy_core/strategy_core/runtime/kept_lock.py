"""Waits of the lab's threads, during which a call may keep the interpreter's lock.

Such a call, for example `gc.collect()`, lets the lock go when it returns. The first thread that
gets it then still sees the calling line on the stack; a moment later the program has gone on. So
whichever thread of the lab's comes first has the stack sampled, if a sample is due.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

KEPT_S = 0.005
"""A wait that is so much longer than asked for, as the usual switch interval is."""

when_kept: list[Callable[[], None]] = []
"""Called by the thread that got the lock first."""
os.register_at_fork(after_in_child=when_kept.clear)


def wait(event: threading.Event, seconds: float) -> bool:
    """Wait until `event` is set, at most so long; return whether it is."""
    until_s = time.monotonic() + seconds
    is_set = event.wait(seconds)
    if not is_set and time.monotonic() - until_s >= KEPT_S:
        for call in tuple(when_kept):
            call()
    return is_set
