"""How long a test waits for what it expects, on a machine that may be slow, and busy with others.

What comes at all has come by then. How fast it comes is no test's business: `benchmarks` measures
that, and what depends on a clock is tested with one that is handed in.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 240.0
"""Real processes of TensorFlow, each of which takes seconds to import it on an idle machine."""


def wait_until(is_true: Callable[[], bool], timeout_s: float = PATIENCE_S) -> None:
    """Wait for a condition, asking again and again: often at first, less so after a while."""
    deadline, pause_s = time.monotonic() + timeout_s, 0.01
    while not is_true():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(pause_s)
        pause_s = min(0.3, 1.1 * pause_s)
