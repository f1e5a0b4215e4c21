"""Describes what a run runs on (TensorFlow, its devices and the host) as one event."""

from __future__ import annotations

import os
import platform
from typing import Any

import psutil
import tensorflow as tf

from strategy_lab.profiles.run.event_parts import Device, Host, Threads
from strategy_lab.profiles.run.events import Environment
from strategy_lab.profiles.run.liveness import boot_id


def environment() -> Environment:
    """Describe the environment. Starts TensorFlow's runtime, so create logical devices first."""
    return Environment(
        tensorflow=tf.__version__,
        python=platform.python_version(),
        devices=[_device(device) for device in tf.config.list_logical_devices()],
        host=host(),
        threads=threads(),
    )


def threads() -> Threads:
    """Return the sizes of TensorFlow's thread pools as program and environment set them.

    TensorFlow reads the variables where the program has set nothing. A negative number of inter-op
    threads makes it run all ops in the calling thread.
    """
    pools = tf.config.threading
    inter_op = pools.get_inter_op_parallelism_threads() or _number("TF_NUM_INTEROP_THREADS")
    intra_op = pools.get_intra_op_parallelism_threads() or _number("TF_NUM_INTRAOP_THREADS")
    return Threads(1 if inter_op < 0 else inter_op, max(intra_op, 0))


def _number(variable: str) -> int:
    try:
        return int(os.environ.get(variable, "0"))
    except ValueError:
        return 0  # TensorFlow ignores it, too


def host() -> Host:
    """Describe this machine, without TensorFlow."""
    return Host(
        name=platform.node(),
        boot=boot_id(),
        cpus=_usable_cpus(),
        memory_bytes=psutil.virtual_memory().total,
        platform=platform.platform(),
    )


def _device(device: Any) -> Device:
    """A logical device, with its physical device if that is unambiguous."""
    physical = [d.name for d in tf.config.list_physical_devices(device.device_type)]
    return Device(device.name, device.device_type, physical[0] if len(physical) == 1 else None)


def _usable_cpus() -> int:
    """Number of CPUs that this process may use; a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
