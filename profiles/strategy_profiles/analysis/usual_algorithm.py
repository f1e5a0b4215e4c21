"""The algorithm by which TensorFlow reduces gradients on its own choice."""

from __future__ import annotations

from strategy_profiles.run.events import SegmentOpened


def usual_algorithm(segment: SegmentOpened) -> str | None:
    """Return TensorFlow's choice; None if it depends on what is not recorded."""
    is_mirrored = segment.has_central_copy is False and not segment.core_devices
    if not is_mirrored or segment.num_workers > 1 or segment.num_replicas < 2 or not segment.spec:
        return None
    if all("/device:CPU:" in device for device in segment.replica_devices):
        return "collective-ring"
    are_gpus = all("/device:GPU:" in device for device in segment.replica_devices)
    # Only with a limit of memory does the lab put several logical GPUs on one physical GPU.
    are_whole = are_gpus and segment.spec.get("gpu_memory_mb") is None
    return "nccl" if are_whole and segment.replica_devices else None
