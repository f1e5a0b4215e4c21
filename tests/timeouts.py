"""How long a test waits for an expected event on a slow or busy machine.

The limit only ends a test that would hang. `benchmarks` measures speed, and code that depends on a
clock is tested with a clock passed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable

MAX_WAIT_S = 240.0
"""Real processes of TensorFlow, each of which takes seconds to import it on an idle machine."""


def wait_until(is_true: Callable[[], bool], timeout_s: float = MAX_WAIT_S) -> None:
    """Wait for a condition, asking again and again: often at first, less so after a while."""
    deadline, pause_s = time.monotonic() + timeout_s, 0.01
    while not is_true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(pause_s)
        pause_s = min(0.3, 1.1 * pause_s)
