"""Weights sharded over the parameter servers, as TensorFlow's partitioners decide.

With a `variable_partitioner` TensorFlow creates `ShardedVariable`s, which Keras 3 layers cannot
hold. Solution: the whole model stays on the coordinator as a pattern, and the variables that are
trained are shards of its weights, each a separate variable on a server. A step concatenates the
shards where it pulls them, and splits the gradient where it pushes it. Optimizers that update each
number independently (SGD, Adam, ...) give the same result for shards as for the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from strategy_core.training.workload import Workload
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import ParameterServerOptions, RunSpec

ELEMENTWISE = (
    "SGD",
    "RMSprop",
    "Adam",
    "AdamW",
    "Adagrad",
    "Adadelta",
    "Adamax",
    "Nadam",
    "Ftrl",
    "Lion",
)
"""Optimizers that update each number independently of the others."""


@dataclass(frozen=True, slots=True)
class StepVariables:
    """The variables that a step pulls and pushes to."""

    weights: list[list[Any]]
    """For each weight of the model its shards in order, along axis 0; a single one if it is
    whole."""
    states: list[Any]
    """Variables without a gradient."""
    optimizer: Any
    names: dict[str, str]
    """The model's variable name by the path of a shard or state."""

    @classmethod
    def whole(cls, model: Any, optimizer: Any) -> StepVariables:
        """The model's own variables, which live on the servers."""
        weights = [[variable] for variable in model.trainable_variables]
        return cls(weights, list(model.non_trainable_variables), optimizer, {})

    def pull(self) -> tuple[list[tf.Tensor], list[tf.Tensor]]:
        """Copies of all weights, concatenated from their shards, and of all states."""
        weights = [_together([tf.identity(part.value) for part in parts]) for parts in self.weights]
        return weights, [tf.identity(state.value) for state in self.states]

    def cut(self, gradients: Sequence[Any]) -> list[tuple[Any, Any]]:
        """(gradient, variable) for every shard.

        `gradients` has one item per weight; None is left out.
        """
        pairs: list[tuple[Any, Any]] = []
        for gradient, parts in zip(gradients, self.weights, strict=True):
            if gradient is not None:
                sizes = [part.shape[0] for part in parts] if len(parts) > 1 else []
                pairs += zip(_split_gradient(gradient, sizes), parts, strict=True)
        return pairs


class PartedModel:
    """The shards of a model on the servers, and their conversion from and to the whole model."""

    def __init__(
        self, spec: RunSpec, work: Workload, strategy: Any, model: Any, optimizer: Any
    ) -> None:
        self._pattern = (model, optimizer)
        partitioner = _partitioner(spec.parameter_server, spec.parameter_servers)
        with strategy.scope():
            weights = [_shards(variable, partitioner) for variable in model.trainable_variables]
            states = [_copy_of(variable) for variable in model.non_trainable_variables]
            own = work.build_optimizer()
            _check_elementwise(own)
            if spec.learning_rate is not None:
                own.learning_rate = spec.learning_rate
            own.build([part for parts in weights for part in parts])
        names = {
            part.path: variable.path
            for variables, served in (
                (model.trainable_variables, weights),
                (model.non_trainable_variables, [[variable] for variable in states]),
            )
            for variable, parts in zip(variables, served, strict=True)
            for part in parts
        }
        self.held = StepVariables(weights, states, own, names)
        self._slots = _slots(optimizer, model.trainable_variables, own, weights)
        self.hand_out()

    @property
    def variables(self) -> list[Any]:
        """All variables on the servers, in the order of creation."""
        weights = [part for parts in self.held.weights for part in parts]
        return [*weights, *self.held.states, *self.held.optimizer.variables]

    def hand_out(self) -> None:
        """Copy the values of the whole model to the shards."""
        for variable, parts in self._pairs():
            whole, at = np.asarray(variable.value), 0
            for part in parts:
                size = part.shape[0] if len(parts) > 1 else None
                part.assign(whole if size is None else whole[at : at + size])
                at += size or 0

    def gather(self) -> None:
        """Copy the values of the shards to the whole model."""
        for variable, parts in self._pairs():
            values = [np.asarray(part.value) for part in parts]
            variable.assign(values[0] if len(values) == 1 else np.concatenate(values))

    def _pairs(self) -> list[tuple[Any, list[Any]]]:
        model, _ = self._pattern
        weights = zip(model.trainable_variables, self.held.weights, strict=True)
        states = ((whole, [own]) for whole, own in _zip(model.non_trainable_variables, self.held))
        return [*weights, *states, *self._slots]


def check_parts(work: Workload) -> None:
    """Raise SpecError if the workload needs the model's own variables to be on the servers."""
    if work.train_step is not None:
        raise SpecError(
            f"{work.name} has a train_step of its own; only the lab's own step can split "
            "weights over parameter servers",
            advice="Remove train_step, or set parameter_server.partitioner to none",
            field="parameter_server.partitioner",
        )


def _zip(variables: Sequence[Any], held: StepVariables) -> list[tuple[Any, Any]]:
    return list(zip(variables, held.states, strict=True))


def _together(parts: list[tf.Tensor]) -> tf.Tensor:
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)


def _split_gradient(gradient: Any, sizes: Sequence[int]) -> list[Any]:
    """Split a gradient into pieces of these sizes; a single piece without sizes."""
    if not sizes:
        return [gradient]
    if not isinstance(gradient, tf.IndexedSlices):
        return list(tf.split(gradient, sizes, axis=0))
    parts, low = [], 0
    for size in sizes:
        inside = (gradient.indices >= low) & (gradient.indices < low + size)
        rows = tf.boolean_mask(gradient.values, inside)
        numbers = tf.boolean_mask(gradient.indices, inside) - low
        parts.append(tf.IndexedSlices(rows, numbers, tf.constant([size, *rows.shape[1:]])))
        low += size
    return parts


def _partitioner(options: ParameterServerOptions, num_servers: int) -> Callable[..., list[int]]:
    """One of TensorFlow's partitioners: a function from a shape to the number of shards per
    axis."""
    partitioners = tf.distribute.experimental.partitioners
    parts = options.parts or num_servers
    if options.partitioner == "fixed":
        return partitioners.FixedShardsPartitioner(parts)
    if options.partitioner == "min-size":
        return partitioners.MinSizePartitioner(min_shard_bytes=options.part_bytes, max_shards=parts)
    return partitioners.MaxSizePartitioner(options.part_bytes)


def _shards(variable: Any, partitioner: Callable[..., list[int]]) -> list[Any]:
    """Create the shards of a weight, split along its first axis, under the strategy in scope.

    Returns a single copy if the partitioner does not split the weight.
    """
    shape = tf.TensorShape(variable.shape)
    count = partitioner(shape, tf.as_dtype(variable.dtype))[0] if shape.rank else 1
    count = min(count, shape[0]) if shape.rank else 1
    whole = np.asarray(variable.value)
    if count == 1:
        return [_copy_of(variable)]
    name = variable.path.replace("/", "_")
    return [
        keras.Variable(part, dtype=variable.dtype, trainable=True, name=f"{name}_part_{number}")
        for number, part in enumerate(np.array_split(whole, count))
    ]


def _copy_of(variable: Any) -> Any:
    """Create a variable with the same value, type and name under the strategy in scope."""
    name = variable.path.replace("/", "_")
    value, dtype = np.asarray(variable.value), variable.dtype
    return keras.Variable(value, dtype=dtype, trainable=variable.trainable, name=name)


def _check_elementwise(optimizer: Any) -> None:
    name = type(optimizer).__name__
    if name not in ELEMENTWISE or optimizer.clipnorm is not None:
        raise SpecError(
            f"{name}{' with clipnorm' if optimizer.clipnorm is not None else ''} does not "
            "update weights elementwise, so they cannot be split over parameter servers",
            advice=f"Choose one of {', '.join(ELEMENTWISE)}, or set "
            "parameter_server.partitioner to "
            "none",
            field="parameter_server.partitioner",
        )


def _slots(
    whole: Any, weights: Sequence[Any], parted: Any, parts: Sequence[Sequence[Any]]
) -> list[tuple[Any, list[Any]]]:
    """Pairs each optimizer variable of the whole model with those of the shards, by name.

    Keras names them `optimizer/path_of_the_weight_slot`.
    """
    served = {variable.path.partition("/")[2]: variable for variable in parted.variables}
    names = {w.path.replace("/", "_"): [p.path for p in own] for w, own in _zipped(weights, parts)}
    slots = []
    for variable in whole.variables:
        if variable.path.endswith("/learning_rate"):
            continue  # a setting of the run
        name = variable.path.partition("/")[2]
        weight = max((w for w in names if name.startswith(f"{w}_")), key=len, default=None)
        own = [name] if weight is None else [p + name[len(weight) :] for p in names[weight]]
        if not all(key in served for key in own):
            raise SpecError(
                f"{type(whole).__name__} keeps the variable {variable.path} for no single "
                "weight, so weights cannot be split over parameter servers",
                advice="Set parameter_server.partitioner to none",
                field="parameter_server.partitioner",
            )
        slots.append((variable, [served[key] for key in own]))
    return slots


def _zipped(
    weights: Sequence[Any], parts: Sequence[Sequence[Any]]
) -> list[tuple[Any, Sequence[Any]]]:
    return list(zip(weights, parts, strict=True))
