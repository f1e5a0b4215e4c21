"""What a worker does before it has a plan: a fork server's imports, and a spare worker's start."""

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

SPARE = """
import os
from strategy_core.processes.command_reader import CommandReader
from strategy_core.worker import main

def next_run(_reader):
    import tensorflow as tf
    tf.config.set_visible_devices([], "CPU")  # refused once the runtime has started
    tf.config.set_visible_devices(tf.config.list_physical_devices("CPU"), "CPU")
    tf.config.list_logical_devices()
    try:
        tf.config.set_visible_devices([], "CPU")
    except RuntimeError:
        os._exit(0)
    os._exit(2)

CommandReader.next_run = next_run
main.main(["--parent", str(os.getppid())])
"""


def test_a_spare_worker_starts_no_runtime_before_its_plan() -> None:
    """The runtime opens a context on each card, which takes hundreds of MB of its memory."""
    command = [sys.executable, "-P", "-c", SPARE]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe) as spare:
        assert spare.stderr is not None
        assert spare.wait(300) == 0, spare.stderr.read().decode()


def test_the_imports_of_a_worker_start_neither_a_thread_nor_the_runtime() -> None:
    """A fork has none of its parent's threads: what they did would never be done."""
    command = [sys.executable, "-P", "-c", PREPARED]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.stdout == "prepared\n", ran.stderr
