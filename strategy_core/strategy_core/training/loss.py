"""The loss of each example: a default for workloads without one, and checks of any loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf

from strategy_core.runtime.tensor_format import described
from strategy_core.runtime.user_errors import explained
from strategy_profiles.errors import SpecError

Loss = Callable[[Any, Any], Any]
"""(labels, outputs) -> losses, shape (n, ...)."""


def default_loss(labels: Any, outputs: Any) -> tf.Tensor:
    """Loss of each example: cross-entropy of logits for integer labels, otherwise squared error.

    Labels of shape (n,) match outputs of shape (n, 1), too. Returns shape (n, ...), that of the
    labels. Raises SpecError.
    """
    if not isinstance(labels, tf.Tensor) or not isinstance(outputs, tf.Tensor):
        problem = "The default loss takes labels and outputs of one tensor each"
        raise _wrong(problem, labels, outputs, "Write loss_fn(labels, outputs)")
    if not outputs.dtype.is_floating or not (labels.dtype.is_floating or labels.dtype.is_integer):
        problem = "The default loss takes numbers as labels and outputs of a float type"
        raise _wrong(problem, labels, outputs, "Convert them in build_dataset, or write a loss_fn")
    if labels.dtype.is_integer:
        if not outputs.shape[:-1].is_compatible_with(labels.shape) or outputs.shape.rank == 1:
            problem = "The default loss takes class numbers (n,) for outputs (n, classes)"
            advice = "Use these shapes, write a loss_fn, or make labels that are values floats"
            raise _wrong(problem, labels, outputs, advice)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
    if outputs.shape[-1:] == [1] and outputs.shape.rank - 1 == labels.shape.rank:
        outputs = tf.squeeze(outputs, axis=-1)
    if not labels.shape.is_compatible_with(outputs.shape):  # otherwise they would be broadcast
        problem = "The default loss takes float labels of the shape of the outputs"
        advice = "Use this shape, write a loss_fn, or make labels that are class numbers integers"
        raise _wrong(problem, labels, outputs, advice)
    return tf.math.squared_difference(tf.cast(labels, outputs.dtype), outputs)


def explaining(path: Path, loss_fn: Loss) -> Loss:
    """Wrap a loss so that it returns a float tensor with one row per example.

    Raises SpecError if that is impossible or `loss_fn` raises an error.
    """

    def call(labels: Any, outputs: Any) -> tf.Tensor:
        given = f"labels {described(labels)} and outputs {described(outputs)}"
        advice = "Change loss_fn, the labels, or the outputs of the model"
        with explained(path, f"loss_fn of {path.name}, for {given},", advice):
            losses = loss_fn(labels, outputs)
        return _losses(losses, tf.nest.flatten(labels)[0], given)

    return call


def _losses(losses: Any, labels: Any, given: str) -> tf.Tensor:
    """The losses as a tensor, one row per example; raises SpecError."""
    if not tf.is_tensor(losses) and not isinstance(losses, int | float):
        raise _no_losses(type(losses).__name__, "Return a tensor")
    losses = tf.convert_to_tensor(losses)
    if losses.shape.rank in (None, 0):
        advice = "Return no mean: the lab computes it. Give Keras losses reduction='none'"
        raise _no_losses(f"shape {losses.shape}", advice)
    if not losses.dtype.is_floating:
        advice = "Compute floats: whole numbers have no gradient"
        raise _no_losses(f"type {losses.dtype.name}", advice)
    if not losses.shape[:1].is_compatible_with(tf.TensorShape(labels.shape)[:1]):
        returned = f"shape {losses.shape} for {given}"
        raise _no_losses(returned, "Keep the first axis, that of the examples")
    return tf.cast(losses, tf.float32)


def _no_losses(returned: str, advice: str) -> SpecError:
    problem = f"loss_fn returned {returned}, not one loss per example, shape (n,)"
    return SpecError(problem, advice=advice, field="workload")


def _wrong(problem: str, labels: Any, outputs: Any, advice: str) -> SpecError:
    given = f"labels {described(labels)} and outputs {described(outputs)}"
    return SpecError(f"{problem}, not {given}", advice=advice, field="workload")
