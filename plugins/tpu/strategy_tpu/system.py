"""Connects to, initializes and shuts down the TPU system, real or emulated."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from strategy_tpu.cores import has_real_tpu
from strategy_tpu.resolver import TPUClusterResolver
from strategy_tpu.system_state import State, set_state, state_of

Topology = tf.tpu.experimental.Topology


class DeviceAssignment(tf.tpu.experimental.DeviceAssignment):
    """TensorFlow's own class; its errors for an emulated mesh also say how to get a larger one."""

    @classmethod
    def build(
        cls,
        topology: Any,
        computation_shape: Any = None,
        computation_stride: Any = None,
        num_replicas: int = 1,
        **kwargs: Any,
    ) -> Any:
        """Like `tf.tpu.experimental.DeviceAssignment.build`."""
        try:
            return tf.tpu.experimental.DeviceAssignment.build(
                topology, computation_shape, computation_stride, num_replicas, **kwargs
            )
        except ValueError as error:
            if has_real_tpu():
                raise
            shape = tuple(topology.mesh_shape.tolist())
            raise ValueError(
                f"{error} The emulated mesh is {shape}; a program for another one needs "
                "TPUClusterResolver(topology_shape=...), with a shape such as (2, 2, 1, 2) or the "
                "name of the TPU that it was written for, such as 'v3-8'."
            ) from error


def connect_to_cluster(resolver: Any) -> None:
    """Like `tf.config.experimental_connect_to_cluster`; does nothing for local cores."""
    if isinstance(resolver, TPUClusterResolver) and resolver.pod is not None:
        resolver.pod.connect()
    else:
        tf.config.experimental_connect_to_cluster(resolver)


def initialize_tpu_system(resolver: Any = None) -> Any:
    """Like `tf.tpu.experimental.initialize_tpu_system`. Returns the Topology; in a tf.function a
    tensor.

    `None` selects the TPU of this machine. Raises `TPUSetupError` if the devices cannot fill the
    requested topology.
    """
    resolver = TPUClusterResolver("") if resolver is None else resolver
    if not isinstance(resolver, TPUClusterResolver):
        return tf.tpu.experimental.initialize_tpu_system(resolver)
    if not tf.executing_eagerly():
        set_state(resolver.system_name, State.READY)
        return tf.constant(resolver.topology().serialized())
    return resolver.initialize()


def shutdown_tpu_system(resolver: Any = None) -> None:
    """Like `tf.tpu.experimental.shutdown_tpu_system`, which serves the resolver of a real TPU.

    Emulated cores hold no resources, so variables keep their values, and a later step works. It
    warns that it would fail on a TPU.
    """
    resolver = TPUClusterResolver("") if resolver is None else resolver
    if not isinstance(resolver, TPUClusterResolver):
        tf.tpu.experimental.shutdown_tpu_system(resolver)
    elif not tf.executing_eagerly():
        raise RuntimeError("shutdown_tpu_system was called inside a tf.function. Call it outside.")
    else:
        if state_of(resolver.system_name) is not State.READY:
            tf.get_logger().warning(  # TensorFlow's own message
                "You are shutting down a TPU system %s that has not been initialized.",
                resolver.system_name,
            )
        set_state(resolver.system_name, State.SHUT_DOWN)
