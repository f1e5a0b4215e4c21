"""What a fork server imports leaves a process from which workers can be forked."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.run, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

PREPARED = """
import os, threading
from pathlib import Path
from strategy_core.worker import main

main.prepare()
assert threading.active_count() == 1, threading.enumerate()
names = [(task / "comm").read_text().strip() for task in Path("/proc/self/task").iterdir()]
started = [name for name in names if name.startswith(("tf_", "grpc", "eager", "cuda"))]
assert not started, started

import tensorflow as tf
(cpu,) = tf.config.list_physical_devices("CPU")
two = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpu, two)  # refused once the runtime has started
assert len(tf.config.list_logical_devices("CPU")) == 2
print("prepared")
"""


def test_the_imports_of_a_worker_start_neither_a_thread_nor_the_runtime() -> None:
    """A fork has none of its parent's threads: what they did would never be done."""
    command = [sys.executable, "-P", "-c", PREPARED]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.stdout == "prepared\n", ran.stderr
