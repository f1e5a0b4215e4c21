"""At least four virtual CPUs, no matter which test starts TensorFlow."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _devices(request: pytest.FixtureRequest) -> None:
    """Before all fixtures of narrower scope; not if no selected test needs TensorFlow."""
    if any(item.get_closest_marker("tf") for item in request.session.items):
        request.getfixturevalue("virtual_cpus")


@pytest.fixture(scope="session")
def virtual_cpus() -> None:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    if not tf.config.get_logical_device_configuration(cpu):
        devices = [tf.config.LogicalDeviceConfiguration()] * 8
        tf.config.set_logical_device_configuration(cpu, devices)
    assert len(tf.config.list_logical_devices("CPU")) >= 4
