"""Connecting to, initializing and shutting down the TPU system, real or emulated."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from strategy_core.tpu.resolver import TPUClusterResolver

Topology = tf.tpu.experimental.Topology
DeviceAssignment = tf.tpu.experimental.DeviceAssignment


def connect_to_cluster(resolver: Any) -> None:
    """As `tf.config.experimental_connect_to_cluster`; nothing to do for local cores."""
    if isinstance(resolver, TPUClusterResolver) and resolver.pod is not None:
        resolver.pod.connect()
    else:
        tf.config.experimental_connect_to_cluster(resolver)


def initialize_tpu_system(resolver: Any = None) -> Any:
    """As `tf.tpu.experimental.initialize_tpu_system`: the Topology, inside a tf.function a tensor.

    `None` stands for the TPU of this machine. Raises `TPUSetupError` where the devices cannot
    fill the topology that was asked for.
    """
    resolver = TPUClusterResolver("") if resolver is None else resolver
    if not isinstance(resolver, TPUClusterResolver):
        return tf.tpu.experimental.initialize_tpu_system(resolver)
    if not tf.executing_eagerly():
        return tf.constant(resolver.topology().serialized())
    return resolver.initialize()


def shutdown_tpu_system(resolver: Any = None) -> None:
    """As `tf.tpu.experimental.shutdown_tpu_system`. Emulated cores hold nothing to release."""
    resolver = TPUClusterResolver("") if resolver is None else resolver
    if not isinstance(resolver, TPUClusterResolver):
        tf.tpu.experimental.shutdown_tpu_system(resolver)
    elif not tf.executing_eagerly():
        raise RuntimeError("shutdown_tpu_system is called outside of any tf.function.")
