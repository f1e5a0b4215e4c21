"""Workers of a cluster meet outside their steps: in an all-reduce that all of them enter.

Before a change of the step that they share: each has built its part, or says that it could not, and
all do the same then. A worker that went on alone would leave its peers waiting for ever.

Where one of them was sent a command that its peers' launchers know nothing of: all tell each other
what they have (`share`).

After the last step, where their launchers do not know each other: a worker that leaves right then
can fail a peer that is still inside that step. A worker that has the result of the all-reduce knows
that every step of every worker is done; one that fails inside it loses nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

Sum = Callable[[npt.ArrayLike], npt.NDArray[np.floating[Any]]]
"""Every replica adds this array, shape (n,); gives the sum."""


def all_can(strategy: tf.distribute.Strategy, can: bool) -> bool:
    """Whether every worker says that it can, once all have said so or not.

    Raises tf.errors.OpError where one of them is gone.
    """
    return not _sum(strategy, [0.0 if can else 1.0]).any()


def share(strategy: tf.distribute.Strategy, process: int, num_workers: int, text: str) -> list[str]:
    """What every worker says, by its number, once all have said something or nothing.

    Raises tf.errors.OpError where one of them is gone.
    """
    own = text.encode()
    sizes = np.zeros(num_workers + 1)
    sizes[process], sizes[-1] = len(own), 1
    *summed, num_replicas = _sum(strategy, sizes)
    per_worker = num_replicas / num_workers  # each adds as much as it has replicas
    lengths = [round(size / per_worker) for size in summed]
    ends = np.cumsum(lengths)
    if not ends[-1]:
        return [""] * num_workers
    said = np.zeros(ends[-1])
    said[ends[process] - len(own) : ends[process]] = list(own)
    told = np.rint(_sum(strategy, said) / per_worker).astype(np.uint8).tobytes()
    return [told[end - size : end].decode() for end, size in zip(ends, lengths, strict=True)]


def leave_together(strategy: tf.distribute.Strategy) -> None:
    """Come back once every worker has called this, or one is gone."""
    with contextlib.suppress(tf.errors.OpError):
        _sum(strategy, [1.0])


def sum_over_replicas(strategy: tf.distribute.Strategy) -> Sum:
    """An all-reduce of a small array over all replicas of all workers."""

    @tf.function
    def summed(own: tf.Tensor) -> tf.Tensor:
        parts = strategy.run(tf.identity, args=(own,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)

    return lambda own: np.asarray(summed(tf.constant(own, tf.float32)))


def _sum(strategy: tf.distribute.Strategy, part: npt.ArrayLike) -> npt.NDArray[np.floating[Any]]:
    return sum_over_replicas(strategy)(part)
