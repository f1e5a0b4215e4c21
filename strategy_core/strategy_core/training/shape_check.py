"""Checks before the first step whether data, model and loss of a workload fit together.

Passes shapes and types through the model and the loss as a step would, in a graph that is never
run. Only the labels of the first batch are checked by value. Errors that this cannot find, such as
a wrong label in a later batch, are explained when they occur (`step_errors.py`).
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from strategy_core.runtime.tensor_format import described
from strategy_core.runtime.user_errors import message_with_line
from strategy_core.training.loss import default_loss
from strategy_core.training.step_errors import wrong_number
from strategy_core.training.workload import Workload
from strategy_profiles.errors import SpecError

_MANY = 7919
"""Number of examples in the test batch.

It is a prime that is unlikely as the size of another axis, so another axis of this size comes from
the examples.
"""


def check(
    work: Workload, model: Any, element_spec: Any, first_batch: Any = None, *, loop: str = "custom"
) -> None:
    """Raise SpecError if the lab's own step cannot train `model` on such batches.

    `first_batch` is one of them if its values are to be checked, too.
    """
    # only the workload's own step knows its input; its errors are explained separately
    if work.train_step is not None:
        return
    features, labels = _shaped(element_spec, first_batch)
    outputs = _outputs(work, model, features)
    if loop == "fit":
        _check_for_fit(work, labels, outputs)
    _check_loss(work, labels, outputs)
    if first_batch is not None:
        _check_numbers(work, first_batch[1], outputs)


def _shaped(element_spec: Any, first_batch: Any) -> Any:
    """Features and labels as specs, with the sizes of the first batch except for its examples."""
    if first_batch is None:
        return element_spec

    def shaped(spec: tf.TensorSpec, part: tf.Tensor) -> tf.TensorSpec:
        return tf.TensorSpec([*spec.shape[:1], *part.shape[1:]], part.dtype)

    return tf.nest.map_structure(shaped, element_spec, first_batch)


def _outputs(work: Workload, model: Any, features: Any) -> Any:
    """The model's outputs for the features, as specs."""

    @tf.function(autograph=False)
    def outputs_of(features: Any) -> Any:
        with keras.StatelessScope():  # leaves variables such as moving averages unchanged
            return model(features, training=True)

    try:
        _check_words(model, features)
        traced = outputs_of.get_concrete_function(features).structured_outputs
    except Exception as error:  # a layer may raise any error
        raise SpecError(
            f"The model of {work.path.name} does not take features {described(features)}: "
            f"{_reason(work, model, features, error)}",
            advice="Change the shape or type of the data, or the input of the model",
            field="workload",
        ) from error
    return tf.nest.map_structure(lambda part: tf.TensorSpec(part.shape, part.dtype), traced)


def _reason(work: Workload, model: Any, features: Any, error: Exception) -> str:
    """The inputs that the model declares, if the features differ from them; otherwise the error."""
    inputs = _inputs(model)
    parts = tf.nest.flatten(features)
    are_others = len(parts) != len(inputs) or any(
        not part.shape.is_compatible_with(tf.TensorShape(taken.shape)) or part.dtype == tf.string
        for part, taken in zip(parts, inputs, strict=True)
    )
    if inputs and (are_others or isinstance(features, dict)):
        return f"it takes {described(inputs[0] if len(inputs) == 1 else list(inputs))}"
    return message_with_line(work.path, error)


def _inputs(model: Any) -> list[Any]:
    """The inputs that a model declares; empty for a class with its own `call`."""
    return list(getattr(model, "inputs", None) or [])


def _check_words(model: Any, features: Any) -> None:
    """Raise TypeError for strings passed to numeric inputs.

    Keras casts them silently; TensorFlow then has no kernel for the cast in a step.
    """
    takes_words = any(taken.dtype == "string" for taken in _inputs(model))
    has_words = any(part.dtype == tf.string for part in tf.nest.flatten(features))
    if has_words and _inputs(model) and not takes_words:
        raise TypeError("words are not numbers")


def _check_for_fit(work: Workload, labels: Any, outputs: Any) -> None:
    if len(tf.nest.flatten(outputs)) == 1 and isinstance(labels, tf.TensorSpec):
        return
    raise SpecError(
        f"fit needs labels and outputs of one tensor each; {work.path.name} has labels "
        f"{described(labels)} and outputs {described(outputs)}",
        advice="Choose the custom loop, or join the tensors",
        field="loop",
    )


def _check_loss(work: Workload, labels: Any, outputs: Any) -> None:
    """Check that the loss has one value per example, and a gradient."""
    is_free = all(part.shape.rank and part.shape[0] is None for part in tf.nest.flatten(labels))

    @tf.function(autograph=False)
    def loss_of(labels: Any, outputs: Any) -> Any:
        floats = [part for part in tf.nest.flatten(outputs) if part.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(floats)
            if work.is_built_in:  # more specific about the user's data than TensorFlow's errors
                default_loss(labels, outputs)
            losses = work.loss_fn(labels, outputs)
        gradients = tape.gradient(losses, floats)
        return losses, [gradient for gradient in gradients if gradient is not None]

    try:
        concrete = loss_of.get_concrete_function(*map(_many, (labels, outputs)))
    except SpecError as error:
        raise SpecError(
            error.problem.replace(str(_MANY), "n"), advice=error.advice, field=error.field
        ) from error
    losses, gradients = concrete.structured_outputs
    if is_free and _MANY in losses.shape.as_list()[1:]:
        raise SpecError(
            f"loss_fn of {work.path.name} returned one loss per pair of examples, (n, n), "
            f"for labels {described(labels)} and outputs {described(outputs)}",
            advice="Give both the same shape; otherwise TensorFlow broadcasts them",
            field="workload",
        )
    if not gradients:
        raise SpecError(
            f"The loss of {work.path.name} has no gradient for the model's outputs",
            advice="Compute it with differentiable ops: argmax and casts to int are not",
            field="workload",
        )


def _many(structure: Any) -> Any:
    """The same specs for a batch whose size differs from all other sizes."""

    def many(part: tf.TensorSpec) -> tf.TensorSpec:
        if part.shape.rank and part.shape[0] is None:
            return tf.TensorSpec([_MANY, *part.shape[1:]], part.dtype)
        return part

    return tf.nest.map_structure(many, structure)


def _check_numbers(work: Workload, labels: Any, outputs: Any) -> None:
    """Compute the loss of a batch's labels with outputs of zero, to check the labels' range."""
    examples = tf.nest.flatten(labels)[0].shape[0]

    def zeros(part: tf.TensorSpec) -> tf.Tensor:
        return tf.zeros([examples, *part.shape[1:]], part.dtype)

    if any(None in part.shape[1:] for part in tf.nest.flatten(outputs)):
        return
    try:
        with tf.device("CPU:0"):  # a GPU returns NaN for a class out of range
            work.loss_fn(labels, tf.nest.map_structure(zeros, outputs))
    except SpecError as error:
        explained = wrong_number(error.__cause__, "the first batch", work.path.name)
        if explained is not None:
            raise explained from error
