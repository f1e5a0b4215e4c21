"""Describes what a run runs on (TensorFlow, its devices and the host) as one event."""

from __future__ import annotations

import os
import platform
from typing import Any

import psutil
import tensorflow as tf

from strategy_core.runtime.nvml import Card, cards
from strategy_profiles.run.event_parts import Device, Gpu, Host, Threads
from strategy_profiles.run.events import Environment
from strategy_profiles.run.liveness import boot_id


def environment() -> Environment:
    """Describe the environment. Starts TensorFlow's runtime, so create logical devices first."""
    return Environment(
        tensorflow=tf.__version__,
        python=platform.python_version(),
        devices=_devices(),
        host=host(),
        threads=threads(),
        gpus=[_gpu(device) for device in tf.config.get_visible_devices("GPU")],
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


def _devices() -> list[Device]:
    """The logical devices, which TensorFlow numbers in the order of the physical ones."""
    logical = tf.config.list_logical_devices()
    devices = []
    for kind in dict.fromkeys(device.device_type for device in logical):
        physical = [
            name
            for each in tf.config.get_visible_devices(kind)
            for name in [each.name] * len(tf.config.get_logical_device_configuration(each) or [1])
        ]
        own = [device.name for device in logical if device.device_type == kind]
        known = physical if len(physical) == len(own) else [None] * len(own)
        devices += [Device(name, kind, model) for name, model in zip(own, known, strict=True)]
    return devices


def _gpu(device: Any) -> Gpu:
    """A physical GPU; cards of one model have the same facts, whatever their number."""
    details = tf.config.experimental.get_device_details(device)
    capability = ".".join(map(str, details.get("compute_capability") or ())) or None
    model = details.get("device_name")
    known = cards()
    card = next((each for each in known if isinstance(each, Card) and each.model == model), None)
    if card is None:
        return Gpu(device.name, model, capability)
    return Gpu(
        device.name,
        model,
        capability or card.compute_capability,
        card.driver,
        card.memory_bytes,
        card.max_clock_mhz,
        card.max_power_w,
    )


def _usable_cpus() -> int:
    """Number of CPUs that this process may use; a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
