"""A DeviceAssignment that names cores by the devices that emulate them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf


class PlacedAssignment(tf.tpu.experimental.DeviceAssignment):
    """The stock assignment, with the emulating devices as `tpu_device` and `host_device`.

    TensorFlow finds a replica's copy of a variable by these names.
    """

    def __init__(self, assignment: Any, devices: Sequence[str]) -> None:
        """`devices` is indexed by task and then ordinal, as in
        `TPUClusterResolver.core_devices`."""
        super().__init__(assignment.topology, assignment.core_assignment)
        self._placed = list(devices)

    def tpu_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        del job
        at = self.coordinates(replica, logical_core)
        task = self.topology.task_ordinal_at_coordinates(at)
        ordinal = self.topology.tpu_device_ordinal_at_coordinates(at)
        return self._placed[task * self.topology.num_tpus_per_task + ordinal]

    def host_device(self, replica: int = 0, logical_core: int = 0, job: str | None = None) -> str:
        del job
        return host_of(self.tpu_device(replica, logical_core))

    def core_devices(self) -> npt.NDArray[np.object_]:
        """Device of each core as a `[replica, logical core]` array."""
        return np.array(
            [
                [self.tpu_device(replica, core) for core in range(self.num_cores_per_replica)]
                for replica in range(self.num_replicas)
            ],
            dtype=object,
        )


def host_of(device: str) -> str:
    """The CPU device of the host of a core."""
    spec = tf.DeviceSpec.from_string(device)
    return str(spec.replace(device_type="CPU", device_index=0).to_string())
