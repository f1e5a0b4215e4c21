"""What kind of processes a segment ran in, and which of them a replica or a device belongs to.

Everything here is derived from what the segment recorded, so a run opens where its strategy is not
installed. In a TPU pod process 0 coordinates; the host that TensorFlow calls task N of job `host`
is process N + 1.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strategy_lab.profiles.run.events import SegmentOpened

_DEVICE_OF_HOST = re.compile(r"/job:host/(?:.*/)?task:(\d+)(?:/|$)")


def host_process(device: str | None) -> int | None:
    """Number of the process whose device it is; None where it is no device of a pod's host."""
    found = _DEVICE_OF_HOST.match(device or "")
    return int(found[1]) + 1 if found else None


def is_pod(segment: SegmentOpened) -> bool:
    """Whether the segment's cores are on hosts that a coordinator drives."""
    return bool(segment.core_devices) and segment.num_workers > 1


def has_servers(segment: SegmentOpened) -> bool:
    """Whether variables were on parameter servers, and each worker did steps of its own."""
    return bool(segment.spec.get("parameter_servers"))


def has_coordinator(segment: SegmentOpened) -> bool:
    """Whether one process, the coordinator, did the steps, and sent the others their part."""
    return has_servers(segment) or is_pod(segment)


def worker_of(segment: SegmentOpened, replica: int) -> int:
    """The process that a replica runs in."""
    if replica < len(segment.replica_devices):
        process = host_process(segment.replica_devices[replica])
        if process is not None:
            return process
    return replica // max(1, segment.num_replicas // max(1, segment.num_workers))


def replicas_of(segment: SegmentOpened, process: int) -> list[int]:
    """The replicas that run in a process, in order."""
    every = range(segment.num_replicas)
    return [replica for replica in every if worker_of(segment, replica) == process]
