"""Workers of a cluster meet outside their steps: in an all-reduce that all of them enter.

Before a change of the step that they share: each has built its part, or says that it could not, and
all do the same then. A worker that went on alone would leave its peers waiting for ever.

After the last step, where their launchers do not know each other: a worker that leaves right then
can fail a peer that is still inside that step. Whoever has the result of the all-reduce knows that
every step of every worker is done, and whoever is left alone in it has nothing to lose.
"""

from __future__ import annotations

import contextlib

import tensorflow as tf


def all_can(strategy: tf.distribute.Strategy, can: bool) -> bool:
    """Whether every worker says that it can, once all have said so or not.

    Raises tf.errors.OpError where one of them is gone.
    """
    return _sum(strategy, 0.0 if can else 1.0) == 0.0


def part_together(strategy: tf.distribute.Strategy) -> None:
    """Come back once every worker has called this, or one is gone."""
    with contextlib.suppress(tf.errors.OpError):
        _sum(strategy, 1.0)


def _sum(strategy: tf.distribute.Strategy, part: float) -> float:
    """Over all replicas of all workers, each of this worker's adding `part`."""

    @tf.function
    def summed(own: tf.Tensor) -> tf.Tensor:
        parts = strategy.run(tf.identity, args=(own,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)

    return float(summed(tf.constant(part)).numpy())
