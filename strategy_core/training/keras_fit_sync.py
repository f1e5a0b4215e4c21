"""Workers that train by Keras `fit` agree on commands some ten times a second, not at every step.

`fit` gives its step's logs and nothing else, so what is agreed on takes an all-reduce of its own,
which costs a short step as much as a small gradient does. How many steps lie between two of them
follows from the time that the last ones took, summed over all workers in the same all-reduce: all
have the same sum, and so the same number.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from strategy_core.cluster.barrier import Sum
from strategy_core.cluster.command_agreement import CommandAgreement

AGREE_EVERY_S = 0.1
MAX_STEPS = 16
"""Between two all-reduces: a worker that becomes slow is not long out of reach."""


class FitAgreement:
    """When `fit`'s workers agree, and on what. Every worker calls it after every step."""

    def __init__(
        self, agreement: CommandAgreement, summed: Sum, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._agreement = agreement
        self._summed = summed
        self._clock = clock
        self._since_s = clock()
        self._every = self._num_left = 1

    def step_done(self) -> None:
        """A step of `fit` is done: it may be time to hear what every worker has received."""
        self._num_left -= 1
        if self._num_left:
            return
        now_s = self._clock()
        # Whole milliseconds: sums of them are exact in any order.
        took_ms = np.float32(round(min(now_s - self._since_s, 3600.0) * 1e3))
        *heard, every_took_ms = self._summed(np.append(self._agreement.told(), took_ms)).tolist()
        self._agreement.hear(heard)
        num_replicas = heard[-1]
        step_s = every_took_ms / num_replicas / self._every / 1e3
        self._every = int(min(max(AGREE_EVERY_S / max(step_s, 1e-6), 1), MAX_STEPS))
        self._num_left = self._every
        self._since_s = self._clock()
