"""Step timestamps: ops inside the graph that record when tensors are ready without delaying others.

A replica's step returns three timestamps: inputs ready, gradients ready, all-reduce done. Each
costs one op, so every step can carry them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import tensorflow as tf

from strategy_core.private_tf import engine as private_tf


def mark(*tensors: Any) -> tf.Tensor:
    """The wall clock when all `tensors` (nested structures allowed) are ready.

    Returns a scalar int64 tensor, nanoseconds since the epoch, on the CPU of the caller's device.
    Only the step's own result depends on it, so it does not delay the step.
    """
    with on_host():
        return tf.cast(clock_s(*tensors) * 1e9, tf.int64)


def has_gpus() -> bool:
    """Whether this process can compute on GPUs; one whose plan has none hides them."""
    return bool(tf.config.get_visible_devices("GPU"))


def has_tpus() -> bool:
    """Whether this process computes on a real TPU, for which a timestamp does not compile: XLA has
    no such op. Virtual CPUs that emulate TPU cores are CPUs."""
    return bool(tf.config.list_logical_devices("TPU"))


def on_host() -> AbstractContextManager[Any]:
    """Device scope for what computes with timestamps: the host's CPU, if the replicas are on GPUs.

    On a GPU's compute stream each such op would be a kernel and a copy. On CPUs it stays on the
    replica's device, because a logical CPU is the host's.
    """
    scope: AbstractContextManager[Any] = tf.device("/device:CPU:0") if has_gpus() else nullcontext()
    return scope


def clock_s(*tensors: Any) -> tf.Tensor:
    """Like `mark`, in float64 seconds; the host converts them to nanoseconds, outside of the step.

    float64 seconds resolve 0.24 µs at today's epoch, which is finer than the clock call itself.
    """
    ready = list(tf.nest.flatten(list(tensors), expand_composites=True))
    # A control edge from a GPU is complete once its compute stream has run what it had.
    with on_host(), tf.control_dependencies(ready):
        # automatic control dependencies would run the timestamps of the replicas one after the
        # other
        return private_tf.run_unordered(tf.timestamp())
