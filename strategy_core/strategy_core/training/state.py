"""Training state as plain arrays: read from one strategy, written to another, with a checksum.

The state is global. For a variable that is kept per replica until it is read (SyncOnRead, such as
the moving statistics of BatchNormalization) it is the mean over replicas. The learning rate is a
setting of the run, not part of the state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_profiles.errors import LabError

State = list[npt.NDArray[Any]]


def variables(model: Any, optimizer: Any) -> list[Any]:
    """The variables that make up the state, in order of creation."""
    settings = {id(variable) for variable in (_learning_rate(optimizer),) if variable is not None}
    return [*model.variables, *(v for v in optimizer.variables if id(v) not in settings)]


def take(strategy: tf.distribute.Strategy, held: Sequence[Any]) -> State:
    """A copy of the values of `held`, as a single device would have them."""
    return [_value(strategy, variable) for variable in held]


def put(held: Sequence[Any], state: State) -> None:
    """Set the variables to `state`; raises LabError if they do not match one to one."""
    shapes = [tuple(variable.shape) for variable in held]
    given = [array.shape for array in state]
    if shapes != given:
        raise LabError(
            f"The saved state does not fit this model: {len(given)} arrays for {len(shapes)} "
            "variables, or other shapes",
            advice="Keep the model's options, or start a new run",
        )
    for variable, array in zip(held, state, strict=True):
        variable.assign(array)


def checksum(state: State) -> str:
    """SHA-256 over dtype, shape and bytes of every array, in order."""
    digest = hashlib.sha256()
    for array in state:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _value(strategy: tf.distribute.Strategy, variable: Any) -> npt.NDArray[Any]:
    """One array: the replicas' common value, or else their mean.

    If replicas are in other processes the mean takes a collective, so all processes must call this
    at the same time.
    """
    distributed = getattr(variable, "value", variable)
    is_per_replica = distributed.synchronization == tf.VariableSynchronization.ON_READ
    if is_per_replica and _spans_processes(strategy):
        rows = strategy.run(lambda: tf.expand_dims(distributed, 0))
        copies = list(strategy.gather(rows, axis=0).numpy())
    else:
        copies = [copy.numpy() for copy in strategy.experimental_local_results(distributed)]
    if all(np.array_equal(copies[0], copy, equal_nan=True) for copy in copies[1:]):
        return copies[0]  # a mean of equal values could differ from them in the last bit
    mean: npt.NDArray[Any] = np.mean(copies, axis=0, dtype=np.float64).astype(copies[0].dtype)
    return mean


def _spans_processes(strategy: tf.distribute.Strategy) -> bool:
    """Whether some replicas of a strategy that keeps them in sync are in other processes."""
    replicas = strategy.num_replicas_in_sync
    # TensorFlow's default strategy, of one replica, raises on `worker_devices`.
    return replicas > 1 and len(strategy.extended.worker_devices) < replicas


def _learning_rate(optimizer: Any) -> Any:
    """The optimizer's learning-rate variable; None if a schedule computes it."""
    return next((v for v in optimizer.variables if v.path.endswith("/learning_rate")), None)
