"""Describes what a run runs on (TensorFlow, its devices and the host) as one event."""

from __future__ import annotations

import os
import platform
from typing import Any

import psutil
import tensorflow as tf

from strategy_lab.profiles.run.event_parts import Device, Host
from strategy_lab.profiles.run.events import Environment
from strategy_lab.profiles.run.liveness import boot_id


def environment() -> Environment:
    """Describe the environment. Starts TensorFlow's runtime, so create logical devices first."""
    return Environment(
        tensorflow=tf.__version__,
        python=platform.python_version(),
        devices=[_device(device) for device in tf.config.list_logical_devices()],
        host=host(),
    )


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
