"""The kinds of processes of a segment, and the process of each replica and device.

This is derived only from the recorded segment, so a run can be read without its strategy's package.
In a TPU pod, process 0 is the coordinator, and task N of TensorFlow's job `host` is process N + 1.
"""

from __future__ import annotations

import re

from strategy_profiles.run.events import SegmentOpened

_DEVICE_OF_HOST = re.compile(r"/job:host/(?:.*/)?task:(\d{1,9})(?:/|$)")


def host_process(device: str | None) -> int | None:
    """Return the process number of a pod host's device; None for any other device."""
    match = _DEVICE_OF_HOST.match(device or "")
    return int(match[1]) + 1 if match else None


def is_pod(segment: SegmentOpened) -> bool:
    """Return whether the segment's TPU cores are on several hosts with a coordinator."""
    return bool(segment.core_devices) and segment.num_workers > 1


def has_servers(segment: SegmentOpened) -> bool:
    """Return whether variables are on parameter servers and each worker runs its own steps."""
    return bool(segment.spec.get("parameter_servers"))


def has_coordinator(segment: SegmentOpened) -> bool:
    """Return whether a coordinator process runs the steps and sends work to the others."""
    return has_servers(segment) or is_pod(segment)


def worker_of(segment: SegmentOpened, replica: int) -> int:
    """Return the process in which a replica runs."""
    if replica < len(segment.replica_devices):
        process = host_process(segment.replica_devices[replica])
        if process is not None:
            return process
    return replica // max(1, segment.num_replicas // max(1, segment.num_workers))


def replicas_of(segment: SegmentOpened, process: int) -> list[int]:
    """Return the replicas that run in a process, in order."""
    every = range(segment.num_replicas)
    return [replica for replica in every if worker_of(segment, replica) == process]
