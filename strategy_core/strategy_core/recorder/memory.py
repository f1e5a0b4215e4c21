"""Memory in use: an accelerator's own counters, or the resident memory of this process."""

from __future__ import annotations

from collections.abc import Iterable

import psutil
import tensorflow as tf

from strategy_profiles.run.events import MemorySampled


def sample(devices: Iterable[str], step: int) -> list[MemorySampled]:
    """One sample per GPU or TPU in `devices`; without any, one sample of this process.

    Virtual CPU devices share one process and have no memory counters of their own.
    """
    samples = []
    for device in devices:
        kind, _, number = device.rpartition("/device:")[2].partition(":")
        if kind in ("GPU", "TPU"):
            info = tf.config.experimental.get_memory_info(f"{kind}:{number}")
            samples.append(
                MemorySampled(device, step, info["current"], info["peak"], "tensorflow-allocator")
            )
    if samples:
        return samples
    resident = psutil.Process().memory_info().rss
    return [MemorySampled("host", step, resident, None, "process-resident")]
