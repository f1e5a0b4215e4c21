"""One training step under tf.distribute, from a batch per replica to updated weights.

The global batch is shared out: every replica gets its part, computes gradients on it, and the
gradients are summed over the replicas (the all-reduce), so that all of them make the same update
and stay copies of one model. Every example comes with its share of the mean, 1 over the number of
examples in the global batch, so that summing over replicas gives the mean over the global batch,
whether the replicas have the same number of examples or, in a last partial batch, not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from strategy_core import private_tf
from strategy_core.delay import delayed
from strategy_core.recorder.marks import mark
from strategy_core.workload import Workload


class Outcome(NamedTuple):
    """What a step returns, as tensors on the host."""

    loss_and_examples: tf.Tensor
    """float32 (2,): mean loss over the global batch, and its number of examples."""
    marks: tf.Tensor | None
    """int64 (num_replicas, 3): inputs ready, gradients ready, reduced; ns since the epoch."""


def with_shares(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Batches -> (batch, shares): each example's share of the mean over the global batch."""

    def add_shares(*batch: Any) -> tuple[Any, tf.Tensor]:
        examples = tf.shape(tf.nest.flatten(batch)[0])[0]
        return batch, tf.fill([examples], 1.0 / tf.cast(examples, tf.float32))

    return dataset.map(add_shares)


def build_step(
    strategy: tf.distribute.Strategy,
    model: Any,
    optimizer: Any,
    workload: Workload,
    *,
    delays_ms: dict[int, float],
    with_marks: bool,
) -> Callable[[Any, Any], Outcome]:
    """The step of `workload`, not yet traced: (per-replica batch, per-replica shares) -> Outcome.

    Args:
      delays_ms: real delays by replica id, between a replica's gradients and their all-reduce.
      with_marks: whether the step returns its light per-replica timestamps.
    """

    private_tf.expect_reduced_gradients(optimizer)

    def replica_step(batch: Any, shares: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What each replica does with its part of the global batch."""
        replica = tf.distribute.get_replica_context()
        inputs_ready = mark(batch, shares)
        if with_marks:
            batch = _after(inputs_ready, batch)

        features, labels = batch
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            loss = tf.reduce_sum(workload.loss_fn(labels, outputs) * shares)
            # Every replica adds the model's own losses: one part each of their whole.
            objective = loss + tf.add_n(model.losses or [0.0]) / replica.num_replicas_in_sync
        gradients, weights = _present(tape, objective, model.trainable_variables)
        gradients = delayed(gradients, delays_ms, replica.replica_id_in_sync_group)
        gradients_ready = mark(gradients)

        gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        reduced = mark(gradients)

        optimizer.apply(gradients, weights)
        examples = tf.cast(tf.size(shares), tf.float32)
        return tf.stack([objective, examples]), tf.stack([inputs_ready, gradients_ready, reduced])

    @tf.function(autograph=False)
    def train_step(batch: Any, shares: Any) -> Outcome:
        sums, marks = strategy.run(replica_step, args=(batch, shares))
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, sums, axis=None)
        per_replica = strategy.experimental_local_results(marks)
        return Outcome(total, tf.stack(per_replica) if with_marks else None)

    return train_step


def _after(mark_of_start: tf.Tensor, batch: Any) -> Any:
    """The same batch, there once the mark is: else a busy core might take the mark too late."""
    with tf.control_dependencies([mark_of_start]):
        return tf.nest.map_structure(tf.identity, batch)


def _present(
    tape: tf.GradientTape, objective: tf.Tensor, weights: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Gradients and their weights, without the weights that the objective does not depend on."""
    gradients = tape.gradient(objective, weights)
    pairs = [(g, w) for g, w in zip(gradients, weights, strict=True) if g is not None]
    return [gradient for gradient, _ in pairs], [weight for _, weight in pairs]
