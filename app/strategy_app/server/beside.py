"""Ends a server that `--live` started beside a program: once it is not needed any more."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from strategy_app.server import state
from strategy_app.server.viewers import has_viewers
from strategy_profiles.run.liveness import clock_ahead_ns, is_alive, process_started_ns

KEPT_S = 30.0
"""A browser that starts slowly, or reloads, still finds the server."""
_POLL_S = 1.0


def end_after(pid: int) -> None:
    """Have this server end after a process has ended, no page is open and no run is under way."""
    started_ns, ahead_ns = process_started_ns(pid) or 0, clock_ahead_ns()

    def is_needed() -> bool:
        is_there = is_alive(pid, started_ns, ahead_ns)
        return is_there or has_viewers() or state.lab().active_run() is not None

    def end() -> None:
        wait_until_left(is_needed)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=end, name="beside", daemon=True).start()


def wait_until_left(
    is_needed: Callable[[], bool], sleep: Callable[[float], object] = time.sleep
) -> None:
    """Return after `KEPT_S` without a need."""
    without_s = 0.0
    while without_s < KEPT_S:
        sleep(_POLL_S)
        without_s = 0.0 if is_needed() else without_s + _POLL_S
