"""A real delay inside one replica's step: an op of the graph that sleeps on that replica's device.

It runs between the replica's gradients and their all-reduce. The recording knows it by the name of
the op, and shows it as a phase of its own, with the other replicas waiting for this one. A replica
without a delay that may get one has a place for it in its graph, whose op does not run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_core.recorder.marks import has_gpus, on_host
from strategy_core.runtime.replica import replica_number
from strategy_profiles.run.injected_delay import OP


class Delays:
    """The length of each replica's delay, for those that have a place for one.

    A step that was traced with it asks in each run whether a replica has a delay.
    """

    def __init__(self, ms: Mapping[int, float], cpus: Sequence[int] = (0,)) -> None:
        """`cpus`: the logical CPUs of this process's replicas. A replica asks on its own CPU: from
        another one, each step would have to send it the answer."""
        self.replicas = frozenset(ms)
        self._ms = ms
        self._are_set: dict[int, tf.Variable] = {}
        for number in ms:
            with tf.init_scope(), tf.device(f"/device:CPU:{cpus[number % len(cpus)]}"):
                self._are_set[number] = tf.Variable(ms[number] > 0, trainable=False)

    def set(self, ms: Mapping[int, float]) -> None:
        """Set the lengths; a replica that is not in `ms` has no delay."""
        self._ms = ms
        for number, is_set in self._are_set.items():
            is_set.assign(self.ms(number) > 0)

    def ms(self, number: int) -> float:
        """Milliseconds of a replica, 0 for none."""
        return self._ms.get(number, 0.0)

    def is_set(self, number: int) -> tf.Tensor:
        """Whether a replica has a delay, as an op of the graph being built."""
        # Its identity puts the branch on the replica's device, which the plain read would not.
        return self._are_set[number].read_value()


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
    inputs = [replica.replica_id_in_sync_group] if number is None else []
    if has_gpus():  # an input made from a gradient: only the copy to the host waits for the kernels
        inputs.append(tf.reshape(present[0], [-1])[:1])

    def sleep(*given: Any) -> bool:
        # Releases the interpreter's lock, so that other replicas continue.
        time.sleep(delays.ms(int(given[0]) if number is None else number) / 1e3)
        return True

    def slept_op() -> tf.Tensor:
        # Stateful, or TensorFlow would drop an op with an unused output.
        return tf.numpy_function(sleep, inputs, tf.bool, stateful=True, name=OP)

    with on_host():
        is_set = None if number is None else delays.is_set(number)  # read before the gradients
        with tf.control_dependencies(present):
            # Replicas that share a trace have no branch: beside it, the others waited too.
            slept = slept_op() if is_set is None else tf.cond(is_set, slept_op, lambda: is_set)
    # otherwise two delayed replicas would sleep one after the other
    private_tf.run_unordered(_made_by(slept))
    with tf.control_dependencies([slept]):
        return [None if gradient is None else tf.identity(gradient) for gradient in gradients]


def _made_by(tensor: tf.Tensor) -> tf.Tensor:
    """The output of the op that runs one of two branches, which `tf.cond` returns by identities."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor
