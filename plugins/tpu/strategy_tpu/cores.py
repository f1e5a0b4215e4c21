"""The devices that emulate TPU cores: virtual CPU devices or logical GPUs."""

from __future__ import annotations

import os

import tensorflow as tf

from strategy_core.runtime.logical_devices import SPARE_THREADS
from strategy_tpu.mesh import TPUSetupError

_asked: list[int] = []


def configure_virtual_cores(
    num_cores: int, kind: str = "CPU", memory_mb: int | None = None
) -> list[str]:
    """Create `num_cores` logical devices as emulated TPU cores. Call it before TensorFlow starts.

    If TensorFlow has already started, its logical devices become the cores; with too few of them
    this raises `TPUSetupError`. `kind` is `CPU` or `GPU`. Several GPUs share the cores evenly, each
    with `memory_mb` of memory (required for more than one per device). On a machine with a real TPU
    no device is created. Returns the names of the cores.
    """
    _asked.append(num_cores)
    if has_real_tpu():
        return [device.name for device in tf.config.list_logical_devices("TPU")]
    physical = tf.config.list_physical_devices(kind)
    if not physical or num_cores % len(physical):
        raise TPUSetupError(
            f"{num_cores} cores cannot be shared equally among {len(physical)} {kind} devices",
            advice="Choose a number of cores that the devices divide",
            field="devices",
        )
    per_device = num_cores // len(physical)
    try:
        for device in physical:
            tf.config.set_logical_device_configuration(
                device, [tf.config.LogicalDeviceConfiguration(memory_limit=memory_mb)] * per_device
            )
    except RuntimeError:  # TensorFlow has started: use its existing devices
        pass
    else:
        leave_threads_for(num_cores)
    names = [device.name for device in tf.config.list_logical_devices(kind)]
    if len(names) < num_cores:
        raise TPUSetupError(
            f"{num_cores} emulated cores need {num_cores} logical {kind} devices; TensorFlow "
            f"has started with {len(names)}",
            advice="Call configure_virtual_cores before the first TensorFlow operation",
            field="devices",
        )
    return names


def is_configured() -> bool:
    """Whether the program has configured the number of cores."""
    return bool(_asked)


def leave_threads_for(num_cores: int) -> None:
    """Give TensorFlow's runtime one thread per core and some spare ones. Call it before TensorFlow
    starts.

    A function that fetches the next batch of each core blocks one thread per core. With the default
    number of threads of a machine with two CPUs, no thread is left to produce the batches, and the
    program hangs. A number that the program has set itself is kept.
    """
    if tf.config.threading.get_inter_op_parallelism_threads() == 0:
        wanted = max(num_cores + SPARE_THREADS, os.cpu_count() or 1)
        tf.config.threading.set_inter_op_parallelism_threads(wanted)


def has_real_tpu() -> bool:
    """Whether a TPU is attached to this machine."""
    return bool(tf.config.list_physical_devices("TPU"))


def backing_devices(kind: str | None = None) -> list[str]:
    """Full names of the logical devices that can emulate cores; several GPUs are preferred to
    CPUs."""
    if kind is None:
        kind = "GPU" if len(tf.config.list_logical_devices("GPU")) > 1 else "CPU"
    return [local_name(device.name) for device in tf.config.list_logical_devices(kind)]


def local_name(name: str) -> str:
    """A logical device's name with its job spelled out: `/job:localhost/replica:0/task:0/...`."""
    spec = tf.DeviceSpec.from_string(name)
    return str(
        spec.replace(
            job=spec.job or "localhost", replica=spec.replica or 0, task=spec.task or 0
        ).to_string()
    )
