"""Workers that train by Keras `fit` agree on commands about ten times a second, not at every step.

A step of `fit` returns only its logs, so agreeing takes a separate all-reduce, which costs a short
step as much as a small gradient does. The number of steps between two of them follows from the time
of the previous ones, summed over all workers in the same all-reduce. All workers have the same sum
and so compute the same number; with their own times they could disagree and block each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from strategy_core.cluster.barrier import Sum
from strategy_core.cluster.command_agreement import CommandAgreement

AGREE_EVERY_S = 0.1
MAX_STEPS = 16
"""Most steps between two all-reduces, so that a worker that becomes slow soon gets commands
again."""


class FitAgreement:
    """Decides when workers of `fit` agree, and on what. Every worker calls it after every step."""

    def __init__(
        self, agreement: CommandAgreement, summed: Sum, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._agreement = agreement
        self._summed = summed
        self._clock = clock
        self._since_s = clock()
        self._every = self._num_left = 1

    def step_done(self) -> None:
        """Call after each step of `fit`: exchanges the counts of received commands if it is due."""
        self._num_left -= 1
        if self._num_left:
            return
        now_s = self._clock()
        # Whole milliseconds: their sum is exact in any order.
        took_ms = np.float32(round(min(now_s - self._since_s, 3600.0) * 1e3))
        *counts, every_took_ms = self._summed(
            np.append(self._agreement.contribution(), took_ms)
        ).tolist()
        self._agreement.take_sum(counts)
        num_replicas = counts[-1]
        step_s = every_took_ms / num_replicas / self._every / 1e3
        self._every = int(min(max(AGREE_EVERY_S / max(step_s, 1e-6), 1), MAX_STEPS))
        self._num_left = self._every
        self._since_s = self._clock()
