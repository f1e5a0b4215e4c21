"""Limits how often each client may ask: a bucket of tokens that fills at a steady rate."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable

MAX_CLIENTS = 2000
"""Buckets that are kept; the one unused for longest goes first."""


class RateLimit:
    """Allows `burst` requests at once and `per_second` from then on, for each client."""

    def __init__(
        self, burst: float, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """Tokens of each client, and when they were counted."""

    def allows(self, client: str) -> bool:
        """Take a token of a client; False if it has none left."""
        now = self._clock()
        left, counted_s = self._buckets.pop(client, (self._burst, now))
        left = min(self._burst, left + (now - counted_s) * self._per_second)
        is_allowed = left >= 1
        self._buckets[client] = (left - is_allowed, now)
        while len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return is_allowed
