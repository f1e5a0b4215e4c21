"""Synchronizes the workers of a cluster between steps, by an all-reduce that all of them enter.

It is used in three places:

- Before a change of the step that they share. Each worker has built its part or reports that it
  cannot, and then all act alike. A worker that changed alone would leave its peers waiting.
- When one of them received a command that its peers' launchers do not know: all workers exchange
  their commands (`share`).
- After the last step, if each has its own launcher. A worker that exits right after its last step
  can fail a peer that is still inside that step. A worker that has the result of the all-reduce
  knows that every worker has done every step; a worker left alone in it has nothing to lose.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

Sum = Callable[[npt.ArrayLike], npt.NDArray[np.floating[Any]]]
"""Sums an array of shape (n,) over all replicas, each of which adds its own."""


def all_can(strategy: tf.distribute.Strategy, can: bool) -> bool:
    """Whether every worker can, once all have answered.

    Raises tf.errors.OpError if a worker is gone.
    """
    return not _sum(strategy, [0.0 if can else 1.0]).any()


def share(strategy: tf.distribute.Strategy, process: int, num_workers: int, text: str) -> list[str]:
    """Exchange texts, which may be empty. Returns the text of every worker by its number.

    Raises tf.errors.OpError if a worker is gone.
    """
    # An all-reduce adds arrays of one shape. So the sizes are exchanged first, then one array has
    # room for all texts, and each worker fills its own part: the sum of the rest is zero. Sums of
    # bytes are whole numbers far below 2**24, so float32 holds them exactly.
    own = text.encode()
    sizes = np.zeros(num_workers + 1)
    sizes[process], sizes[-1] = len(own), 1
    *summed, num_replicas = _sum(strategy, sizes)
    per_worker = num_replicas / num_workers  # each worker adds its array once per replica
    lengths = [round(size / per_worker) for size in summed]
    ends = np.cumsum(lengths)
    if not ends[-1]:  # every worker sees the same sum, so all of them skip the second all-reduce
        return [""] * num_workers
    said = np.zeros(ends[-1])
    said[ends[process] - len(own) : ends[process]] = list(own)
    gathered = np.rint(_sum(strategy, said) / per_worker).astype(np.uint8).tobytes()
    return [gathered[end - size : end].decode() for end, size in zip(ends, lengths, strict=True)]


def leave_together(strategy: tf.distribute.Strategy) -> None:
    """Return once every worker has called this, or one is gone."""
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
