"""TensorFlow tests share one process, started with eight logical CPUs."""

from __future__ import annotations

import contextlib
import os

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@pytest.fixture(scope="session")
def logical_cpus() -> list[str]:
    """Names of at least eight logical CPUs."""
    import tensorflow as tf

    from strategy_core.runtime import logical_devices
    from strategy_profiles.spec.run_spec import RunSpec

    with contextlib.suppress(RuntimeError):  # another test started TensorFlow
        logical_devices.create_logical_devices(RunSpec(devices="cpu:8", global_batch_size=8))
    names = [device.name for device in tf.config.list_logical_devices("CPU")]
    assert len(names) >= 8, "TensorFlow was started without logical CPUs"
    return names
