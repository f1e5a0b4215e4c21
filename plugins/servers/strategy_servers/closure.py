"""One closure: a worker's work for a step, with a timestamp between its parts.

    start - batch - inputs ready - pull - pulled - compute - gradients ready - push - pushed

Variables live on parameter servers. The lab's own step pulls each of them once, computes with the
copies, and pushes gradients: the optimizer's update runs where the variable is. The servers send
the variables as soon as the closure begins, while the input is read: making the pull wait for the
input would take one more message. A workload's own `train_step` pulls and pushes at any time, so
those moments are unknown.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import tensorflow as tf

from strategy_core.recorder.marks import mark
from strategy_core.training.train_step import NO_GRADIENT, per_example
from strategy_core.training.workload import Workload
from strategy_profiles.errors import SpecError
from strategy_profiles.run.events import ClosureMarks
from strategy_servers.injected_delay import delayed
from strategy_servers.push_accounting import Pushes, answered, updates
from strategy_servers.result_encoding import Answer, Carried, carry
from strategy_servers.sharded_weights import StepVariables

NOT_TOLD = 0
"""A timestamp that a workload's own step does not provide."""
_TASK = re.compile(r"/task:(\d+)/")


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a closure."""

    worker: int
    """Index among the workers, from 0."""
    loss: float
    examples: int
    marks_ns: ClosureMarks
    """Wall clock of the worker."""


def read_done(answer: Answer) -> Done:
    """Decode the result of a closure."""
    examples, *halves = answer.numbers[:3]
    (loss,) = struct.unpack("<d", struct.pack("<II", *halves))
    start, *between, pushed = answer.numbers[3:]
    ready, pulled, gradients = (None if at == NOT_TOLD else at for at in between)
    marks = (start, ready, pulled, gradients, pushed)
    task = _TASK.search(answer.device)
    return Done(int(task[1]) if task else 0, loss, examples, marks)


def build_step(
    strategy: tf.distribute.Strategy,
    model: Any,
    held: StepVariables,
    workload: Workload,
    take_batch: Callable[[Any], Any],
    *,
    delays_ms: Mapping[int, float],
    pushes: Pushes,
) -> Callable[[Any], Carried]:
    """Build the function to schedule. Its argument is passed to `take_batch`, which returns a
    batch.

    Args:
      delays_ms: real delays by worker index, between its gradients and their push.
      pushes: receives what is sent to each variable when the step is traced.
    """
    make = _lesson if workload.train_step is None else _own_step
    replica_step = make(model, held, workload, delays_ms, pushes)

    def timed_step(source: Any) -> tf.Tensor:
        start = mark()
        with tf.control_dependencies([start]):
            batch = take_batch(source)
        ready = mark(batch)
        with tf.control_dependencies([ready]):
            batch = tf.nest.map_structure(tf.identity, batch)
        loss, later = replica_step(batch)
        examples = tf.shape(tf.nest.flatten(batch)[0], out_type=tf.int64)[0]
        halves = tf.cast(tf.bitcast(tf.cast(loss, tf.float64), tf.uint32), tf.int64)
        return tf.concat([[examples], halves, [start, ready, *later]], axis=0)

    @tf.function(autograph=False)
    def closure(source: Any) -> Carried:
        return carry(strategy.run(timed_step, args=(source,)))

    return cast("Callable[[Any], Carried]", closure)


ReplicaStep = Callable[[Any], tuple[tf.Tensor, list[tf.Tensor]]]


def _lesson(
    model: Any,
    held: StepVariables,
    workload: Workload,
    delays_ms: Mapping[int, float],
    pushes: Pushes,
) -> ReplicaStep:
    """Pull, forward, backward, push."""

    def replica_step(batch: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        features, labels = batch
        weights, others = held.pull()
        pulled = mark(batch, weights, others)
        with tf.control_dependencies([pulled]):
            features = tf.nest.map_structure(tf.identity, features)

        with tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, updated, own_losses = model.stateless_call(
                weights, others, features, training=True, return_losses=True
            )
            loss = tf.reduce_mean(per_example(workload.loss_fn(labels, outputs)))
            loss += tf.add_n(own_losses or [0.0])
        gradients = tape.gradient(loss, weights)
        if all(gradient is None for gradient in gradients):
            raise SpecError(NO_GRADIENT, field="workload")
        pairs = held.cut(gradients)
        own = delayed([gradient for gradient, _ in pairs], delays_ms)
        ready = mark(own)
        with tf.control_dependencies([ready]):
            own = tf.nest.map_structure(tf.identity, own, expand_composites=True)

        with updates() as made:
            held.optimizer.apply(own, [variable for _, variable in pairs])
            for variable, before, after in zip(held.states, others, updated, strict=True):
                if after is not before:
                    variable.value.assign(after)
                    pushes.note(variable, after)
        for gradient, variable in pairs:
            pushes.note(variable, gradient)
        return loss, [pulled, ready, mark(answered(made()))]

    return replica_step


def _own_step(
    model: Any,
    held: StepVariables,
    workload: Workload,
    delays_ms: Mapping[int, float],
    _pushes: Pushes,
) -> ReplicaStep:
    """A workload's own step: only its begin and end are known."""
    user_step = workload.train_step
    assert user_step is not None

    def replica_step(batch: Any) -> tuple[tf.Tensor, list[tf.Tensor]]:
        with updates() as made:
            loss = tf.convert_to_tensor(user_step(model, held.optimizer, batch), tf.float32)
        (loss,) = delayed([loss], delays_ms)
        unknown = tf.constant(NOT_TOLD, tf.int64)
        return loss, [unknown, unknown, mark(loss, answered(made()))]

    return replica_step
