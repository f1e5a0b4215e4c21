"""One training step under tf.distribute, from a batch per replica to updated weights.

The global batch is split: every replica computes gradients on its part, and the gradients are
summed over the replicas (the all-reduce). So all replicas make the same update and stay copies of
one model. Every example comes with its share of the mean, 1 over the number of examples in the
global batch. Summing over replicas then gives the mean over the global batch, also if the replicas
of a last partial batch have different numbers of examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.marks import clock_s, has_gpus, has_tpus, on_host
from strategy_core.runtime.replica import replica_number
from strategy_core.training.injected_delay import Delays, delayed
from strategy_core.training.workload import Workload
from strategy_profiles.capture.reductions import LAB_MARKS
from strategy_profiles.errors import SpecError
from strategy_profiles.run.events import NUM_MARKS

Step = Callable[..., tf.Tensor]
"""(per-replica batch, per-replica shares, optionally one (n,) tensor to sum as well) -> one tensor,
because a step waits for each tensor that it returns. It holds the mean loss over the global batch,
its number of examples, n sums over the replicas and, if enabled, the timestamps of each local
replica in seconds: inputs ready, gradients ready, reduced."""

ReplicaStep = Callable[[Any, tf.Tensor], tuple[tf.Tensor, list[tf.Tensor]]]
"""A replica's work on its part of the batch: (its part of the mean loss, its last two
timestamps)."""

NO_GRADIENT = "The loss does not depend on the model's weights: none of them has a gradient"

Clock = Callable[..., tf.Tensor]
"""The time, float64 seconds, at which all given tensors are ready.

A later timestamp is given the one before it: on a busy machine, TensorFlow may run an op that only
takes the time of the gradients after their all-reduce."""


def build_step(
    strategy: tf.distribute.Strategy,
    model: Any,
    optimizer: Any,
    workload: Workload,
    *,
    delays: Delays,
    with_marks: bool,
    with_xla: bool = False,
    split: Callable[[Any], Any] = lambda features: features,
) -> Step:
    """The step of `workload` under `strategy`, traced when it is first called.

    Its result is float32 without timestamps, float64 with them.

    Args:
      delays: of the replicas, between their gradients and the all-reduce.
      with_marks: whether the step takes and returns timestamps per replica.
      with_xla: whether XLA compiles each replica's forward and backward pass.
      split: applied to a replica's features first, since a TPU's cores may share them.
    """
    if delays.replicas and workload.train_step is not None:
        private_tf.check_can_delay(optimizer)
    check_xla(workload, with_xla=with_xla)
    with_marks = with_marks and private_tf.can_replace_all_reduce(optimizer) and not has_tpus()
    clock: Clock = clock_s if with_marks else _no_clock
    if workload.train_step is None:
        replica_step = lesson_step(model, optimizer, workload, delays, clock, with_xla=with_xla)
    else:
        replica_step = own_step(model, optimizer, workload, delays, clock)

    def marked_step(batch: Any, shares: tf.Tensor, *also: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        inputs_ready = clock(batch, shares)
        if with_marks and not has_gpus():
            batch = _after(inputs_ready, batch)
        features, *rest = batch
        batch = (split(features), *rest)
        loss, later_marks = replica_step(batch, shares)
        examples = tf.cast(tf.size(shares), tf.float32)
        parts = tf.concat([[loss], [examples], *also], axis=0)
        with on_host():
            return parts, tf.stack([inputs_ready, *later_marks])

    @tf.function(autograph=False)
    def train_step(batch: Any, shares: Any, *also: tf.Tensor) -> tf.Tensor:
        parts, marks = strategy.run(marked_step, args=(batch, shares, *also))
        total = strategy.reduce(tf.distribute.ReduceOp.SUM, parts, axis=None)
        if not with_marks:
            return total
        per_replica = strategy.experimental_local_results(marks)
        # Without a device TensorFlow would place it on a GPU, if the process sees one.
        with tf.name_scope(LAB_MARKS), tf.device("/device:CPU:0"):
            return tf.concat([tf.cast(total, tf.float64), *per_replica], axis=0)

    return train_step


def marks_ns(seconds: Sequence[float]) -> list[list[int]] | None:
    """Timestamps per local replica, ns since the epoch, from the end of a step's result."""
    ns = [int(mark * 1e9) for mark in seconds]
    return [ns[at : at + NUM_MARKS] for at in range(0, len(ns), NUM_MARKS)] or None


def lesson_step(
    model: Any,
    optimizer: Any,
    workload: Workload,
    delays: Delays,
    clock: Clock,
    *,
    with_xla: bool = False,
) -> ReplicaStep:
    """The textbook step: forward, backward, all-reduce, update.

    XLA cannot compile the whole of it: a timestamp and a delay have no XLA kernel, and
    MirroredStrategy's all-reduce joins the replicas in Python, which a function of one replica may
    not. So it compiles forward and backward pass, and the phases stay measurable.
    """

    def passes(
        features: Any, labels: Any, shares: tf.Tensor
    ) -> tuple[tf.Tensor, list[tf.Tensor | None]]:
        num_replicas = tf.distribute.get_replica_context().num_replicas_in_sync
        with tf.GradientTape() as tape:
            outputs = model(features, training=True)
            losses = per_example(workload.loss_fn(labels, outputs))
            loss = tf.reduce_sum(losses * shares)
            # The model's own losses (regularization) count once, not once per replica.
            loss += tf.add_n(model.losses or [0.0]) / num_replicas
        return loss, tape.gradient(loss, model.trainable_variables)

    if with_xla:
        passes = tf.function(passes, jit_compile=True, autograph=False)

    def replica_step(batch: Any, shares: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        # The all-reduce runs below, not inside of `apply`, so that it can be timed. Clipping then
        # acts on the global gradient, as on one device; Keras alone would clip each replica's own.
        in_the_open = private_tf.replace_all_reduce(optimizer, list)
        replica = tf.distribute.get_replica_context()
        features, labels = batch

        loss, all_gradients = passes(features, labels, shares)
        gradients, weights = _present(all_gradients, model.trainable_variables)
        gradients = delayed(gradients, delays)
        gradients_ready = clock(gradients)

        if not in_the_open:  # this Keras cannot leave the all-reduce out
            optimizer.apply(gradients, weights)
            return loss, []

        gradients = replica.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
        reduced = clock(gradients, gradients_ready)

        optimizer.apply(gradients, weights)
        return loss, [gradients_ready, reduced]

    return replica_step


def own_step(
    model: Any, optimizer: Any, workload: Workload, delays: Delays, clock: Clock
) -> ReplicaStep:
    """A workload's own `train_step`, with delay and timestamps around its optimizer's
    all-reduce."""
    marks_by_replica: dict[int | None, list[tf.Tensor]] = {}
    user_step = workload.train_step
    assert user_step is not None

    def all_reduce(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
        replica = tf.distribute.get_replica_context()
        gradients, weights = zip(*pairs, strict=True)
        ready = delayed(gradients, delays)
        before = clock([gradient for gradient in ready if gradient is not None])
        reduced = private_tf.stock_all_reduce(optimizer, zip(ready, weights, strict=True))
        after = clock([gradient for gradient, _ in reduced if gradient is not None], before)
        marks_by_replica[replica_number(replica)] = [before, after]
        return reduced

    def replica_step(batch: Any, shares: tf.Tensor) -> tuple[tf.Tensor, list[tf.Tensor]]:
        # The optimizer is shared: a step of another configuration may have replaced it since.
        private_tf.replace_all_reduce(optimizer, all_reduce)
        replica = tf.distribute.get_replica_context()
        loss = tf.convert_to_tensor(user_step(model, optimizer, batch), tf.float32)
        # A step that never calls the all-reduce has one timestamp: its end.
        marks = marks_by_replica.get(replica_number(replica)) or [clock(loss)] * 2
        # The user's loss is a mean over the replica's part: weight it by that part's share.
        return loss * tf.reduce_sum(shares), marks

    return replica_step


def check_xla(workload: Workload, *, with_xla: bool) -> None:
    """Raises SpecError if XLA cannot compile the workload's step."""
    if with_xla and workload.train_step is not None:
        raise SpecError(
            f"xla=true cannot compile the train_step of {workload.path.name}: its all-reduce is "
            "inside, and the lab compiles the part of a step before it",
            advice="Set xla=false, or mark functions of the workload with "
            "tf.function(jit_compile=True)",
            field="xla",
        )


def per_example(losses: tf.Tensor) -> tf.Tensor:
    """One loss per example, (n,): a workload's losses, (n, ...), averaged over further axes."""
    return tf.reduce_mean(losses, axis=list(range(1, losses.shape.rank)))


def _no_clock(*_tensors: Any) -> tf.Tensor:
    """Replaces the clock of a step without timestamps."""
    with on_host():
        return tf.zeros([], tf.float64)


def _after(mark_of_start: tf.Tensor, batch: Any) -> Any:
    """The same batch, available after the timestamp; otherwise a busy core might take it too late.

    Not on GPUs: their first kernel would wait for the host, which has cores of its own.
    """
    with tf.control_dependencies([mark_of_start]):
        return tf.nest.map_structure(tf.identity, batch)


def _present(gradients: Sequence[Any], weights: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Gradients and their weights, without the weights that the loss does not depend on."""
    pairs = zip(gradients, weights, strict=True)
    kept = [(gradient, weight) for gradient, weight in pairs if gradient is not None]
    if not kept:
        raise SpecError(NO_GRADIENT, field="workload")
    return [gradient for gradient, _ in kept], [weight for _, weight in kept]
