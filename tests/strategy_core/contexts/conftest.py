"""Four virtual CPUs at least, whoever starts TensorFlow first."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def virtual_cpus() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    if not tf.config.get_logical_device_configuration(cpu):
        devices = [tf.config.LogicalDeviceConfiguration()] * 8
        tf.config.set_logical_device_configuration(cpu, devices)
    assert len(tf.config.list_logical_devices("CPU")) >= 4
