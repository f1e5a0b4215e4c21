"""A real delay inside one replica's step: an op of the graph that sleeps on that replica's device.

It runs between the replica's gradients and their all-reduce. The recording knows it by the name of
the op, and shows it as a phase of its own, with the other replicas waiting for this one. A replica
without a delay that may get one has a place for it in its graph, whose op does not run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.marks import on_host
from strategy_core.runtime.replica import replica_number
from strategy_profiles.run.injected_delay import OP


class Delays:
    """The length of each replica's delay, for those that have a place for one.

    A step that was traced with it reads the lengths whenever it runs.
    """

    def __init__(self, ms: Mapping[int, float]) -> None:
        self.replicas = frozenset(ms)
        self._now_ms = dict(ms)
        with tf.init_scope(), tf.device("/device:CPU:0"):
            self._ms = tf.Variable(self._by_number(ms), trainable=False)

    def set(self, ms: Mapping[int, float]) -> None:
        """Set the lengths; a replica that is not in `ms` has no delay."""
        self._now_ms = dict(ms)
        self._ms.assign(self._by_number(ms))

    def now_ms(self, number: int) -> float:
        """Milliseconds of a replica, 0 for none."""
        return self._now_ms.get(number, 0.0)

    def of(self, number: tf.Tensor) -> tf.Tensor:
        """Milliseconds of a replica, 0 for none, as an op of the graph being built."""
        return tf.gather(self._ms, number)

    def _by_number(self, ms: Mapping[int, float]) -> npt.NDArray[np.float32]:
        numbers = range(max(self.replicas, default=-1) + 1)
        return np.array([ms.get(number, 0.0) for number in numbers], np.float32)


def delayed(gradients: Sequence[Any], delays: Delays) -> list[Any]:
    """The same gradients, delayed if the current replica has a delay.

    The replica's number is known at tracing time if every replica has its own part of the graph. On
    TPU cores all replicas share one trace, and the number is known only when the step runs.
    Gradients may be None or IndexedSlices.
    """
    replica = tf.distribute.get_replica_context()
    number = replica_number(replica)
    if not delays.replicas or (number is not None and number not in delays.replicas):
        return list(gradients)
    present = tf.nest.flatten(
        [gradient for gradient in gradients if gradient is not None], expand_composites=True
    )
    # An input made from a gradient: on a GPU only the copy to the host waits for the kernels.
    witness = tf.reshape(present[0], [-1])[:1]
    if number is None:
        slept = made = _slept_by_number(delays, replica.replica_id_in_sync_group, present, witness)
    else:
        with on_host(), tf.control_dependencies(present):
            ms = delays.of(replica.replica_id_in_sync_group)
            slept = tf.cond(ms > 0, lambda: _slept(ms, witness), lambda: tf.zeros([]))
        made = _made_by(slept)
    # otherwise two delayed replicas would sleep one after the other
    private_tf.run_unordered(made)
    with tf.control_dependencies([slept]):
        return [None if gradient is None else tf.identity(gradient) for gradient in gradients]


def _slept_by_number(
    delays: Delays, number: tf.Tensor, present: Sequence[tf.Tensor], witness: tf.Tensor
) -> tf.Tensor:
    """The op of all replicas that share a trace; beside a branch, the others waited too."""

    def sleep(number: npt.NDArray[Any], _witness: npt.NDArray[Any]) -> npt.NDArray[Any]:
        time.sleep(delays.now_ms(int(number)) / 1e3)
        return np.zeros((), np.float32)

    with tf.control_dependencies(present):
        return tf.numpy_function(sleep, [number, witness], tf.float32, stateful=True, name=OP)


def _slept(ms: tf.Tensor, witness: tf.Tensor) -> tf.Tensor:
    # Stateful, or TensorFlow would drop an op with an unused output.
    return tf.numpy_function(_sleep, [ms, witness], tf.float32, stateful=True, name=OP)


def _sleep(ms: npt.NDArray[Any], _witness: npt.NDArray[Any]) -> npt.NDArray[Any]:
    # Releases the interpreter's lock, so that other replicas continue.
    time.sleep(float(ms) / 1e3)
    return np.zeros((), np.float32)


def _made_by(tensor: tf.Tensor) -> tf.Tensor:
    """The output of the op that runs one of two branches, which `tf.cond` returns by identities."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor
