"""A workload's model and optimizer, created under a strategy with all of their variables."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from strategy_core.planning import strategy_catalog
from strategy_core.private_tf import engine as private_tf
from strategy_core.runtime.user_errors import explained
from strategy_core.training.variable_aggregation import variable_rules
from strategy_core.training.workload import Workload
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec


class Built(NamedTuple):
    """A model and its optimizer."""

    model: Any
    optimizer: Any
    drew_seeds: bool
    """Whether eager ops drew from TensorFlow's global seed. Keras' initializers do not."""


def build_model(
    spec: RunSpec,
    work: Workload,
    strategy: tf.distribute.Strategy,
    dataset: tf.data.Dataset | None = None,
    *,
    is_seeded: bool = False,
) -> Built:
    """Build model and optimizer; raises SpecError.

    The same seed gives the same weights under every strategy. A model that builds its weights from
    its first input is called with features of `dataset`'s shape.

    `is_seeded` says that TensorFlow already has this seed and nothing has drawn from it. Setting it
    again discards the kernels of all ops and steps so far, which then have to be created again.
    """
    if is_seeded:
        random.seed(spec.seed)
        np.random.seed(spec.seed)
    else:
        keras.utils.set_random_seed(spec.seed)
    seeds = private_tf.eager_seeds()
    model, optimizer = _build_both(spec, work, strategy, dataset)
    drew_seeds = private_tf.eager_seeds() != seeds
    if drew_seeds and is_seeded:  # the workload's file has changed since
        return build_model(spec, work, strategy, dataset)
    return Built(model, optimizer, drew_seeds)


def _build_both(
    spec: RunSpec, work: Workload, strategy: tf.distribute.Strategy, dataset: tf.data.Dataset | None
) -> tuple[Any, Any]:
    with strategy.scope():
        with variable_rules(strategy_catalog.row(spec.strategy)):
            model = work.build_model()
            _check(work, "build_model", "a keras.Model", isinstance(model, keras.Model), model)
            if not model.built or not model.trainable_variables:  # `model.build` may build nothing
                _build(work, model, dataset)
        _check(work, "build_model", "trainable weights", bool(model.trainable_variables), model)
        optimizer = work.build_optimizer()
        is_optimizer = isinstance(optimizer, keras.optimizers.Optimizer)
        _check(work, "build_optimizer", "a keras.optimizers.Optimizer", is_optimizer, optimizer)
        if spec.learning_rate is not None:
            optimizer.learning_rate = spec.learning_rate
        optimizer.build(model.trainable_variables)
    return model, optimizer


def _build(work: Workload, model: Any, dataset: tf.data.Dataset | None) -> None:
    """Create the weights of a model that builds them from its first input."""
    if dataset is None:
        raise SpecError(
            f"build_model of {work.path.name} names no input shape, which data from a file needs",
            advice="Begin the model with keras.Input(shape)",
            field="workload",
        )
    features = tf.nest.map_structure(
        lambda part: tf.zeros([1, *part.shape[1:]], part.dtype), dataset.element_spec[0]
    )
    with explained(work.path, f"The model of {work.path.name}, called with the data's features,"):
        model(features)


def _check(work: Workload, function: str, expected: str, is_fine: bool, received: Any) -> None:
    if is_fine:
        return
    returned, advice = f"{type(received).__name__}, not {expected}", ""
    if received is None:
        returned, advice = f"None, not {expected}", "Return what it builds"
    elif isinstance(received, type):
        returned, advice = f"the class {received.__name__}, not {expected}", "Call it"
    elif isinstance(received, keras.Model):
        returned = f"a {type(received).__name__} without {expected}"
        advice = "Add a layer that has some, or set trainable = True"
    raise SpecError(
        f"{function} of {work.path.name} returned {returned}", advice=advice, field="workload"
    )
