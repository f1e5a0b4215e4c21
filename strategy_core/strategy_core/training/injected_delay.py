"""A real delay inside one replica's step: an op of the graph that sleeps on that replica's device.

It runs between the replica's gradients and their all-reduce. The recording knows it by the name of
the op, and shows it as a phase of its own, with the other replicas waiting for this one.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from strategy_core.private_tf import engine as private_tf
from strategy_core.runtime.replica import replica_number
from strategy_profiles.run.injected_delay import OP


def delayed(gradients: Sequence[Any], delays_ms: Mapping[int, float]) -> list[Any]:
    """The same gradients, delayed by `delays_ms[replica]` if the current replica has a delay.

    The replica's number is known at tracing time if every replica has its own part of the graph. On
    TPU cores all replicas share one trace, and the number is known only when the step runs.
    Gradients may be None or IndexedSlices.
    """
    replica = tf.distribute.get_replica_context()
    number = replica_number(replica)
    if not delays_ms or (number is not None and not delays_ms.get(number)):
        return list(gradients)

    def sleep(number: npt.NDArray[Any], _witness: npt.NDArray[Any]) -> npt.NDArray[Any]:
        # Releases the interpreter's lock, so that other replicas continue.
        time.sleep(delays_ms.get(int(number), 0.0) / 1e3)
        return np.zeros((), np.float32)

    present = tf.nest.flatten(
        [gradient for gradient in gradients if gradient is not None], expand_composites=True
    )
    # An input made from a gradient: on a GPU only the copy to the host waits for the kernels.
    witness = tf.reshape(present[0], [-1])[:1]
    with tf.control_dependencies(present):
        # Stateful, or TensorFlow would drop an op with an unused output.
        slept = tf.numpy_function(
            sleep,
            [replica.replica_id_in_sync_group, witness],
            tf.float32,
            stateful=True,
            name=OP,
        )
    # otherwise two delayed replicas would sleep one after the other
    private_tf.run_unordered(slept)
    with tf.control_dependencies([slept]):
        return [None if gradient is None else tf.identity(gradient) for gradient in gradients]
