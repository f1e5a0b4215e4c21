"""Devices: what is there, and logical devices created before TensorFlow starts."""

from __future__ import annotations

from profiles.spec import RunSpec

MIN_LOGICAL_CPUS = 8
"""Created up front, so that a later reconfiguration to more replicas stays in the worker."""

FULL_NAME = "/job:localhost/replica:0/task:0/device:{kind}:{index}"


def create_logical_devices(spec: RunSpec) -> None:
    """Split the host's CPU into logical ones; only before TensorFlow's runtime starts."""
    import tensorflow as tf

    count = max(spec.device_request.count or 0, MIN_LOGICAL_CPUS)
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(
        cpu, [tf.config.LogicalDeviceConfiguration()] * count
    )


def resolve(spec: RunSpec) -> list[str]:
    """Full device names, one per replica, that `spec.devices` asks for here."""
    request = spec.device_request
    indices = request.indices or tuple(range(request.count or spec.num_replicas or 4))
    return [FULL_NAME.format(kind="CPU", index=index) for index in indices]
