"""Creates TensorFlow's logical devices before its runtime starts, and finds them afterwards.

`python -m strategy_core.runtime.logical_devices` prints the machine's inventory as JSON, for
callers that do not import TensorFlow (`inventory.probe`).
"""

from __future__ import annotations

import functools
import json
import os

import tensorflow as tf

from strategy_core.planning import strategy_catalog
from strategy_core.planning.device_plan import DevicePlan, plan
from strategy_core.planning.gpu_allocation import LocalRank, share_out
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.spec.run_spec import RunSpec

SPARE_THREADS = 2
"""Threads of TensorFlow's runtime beyond one for each device."""
MIN_LOGICAL_CPUS = 8
"""Logical CPUs created up front, so that a later change to more replicas needs no new worker.

A spare one takes no thread, no memory and no time: `python -m benchmarks.spare_devices`.
"""


class _Launch:
    """What this process was started with, which later changes of the run keep."""

    local_rank: LocalRank | None = None
    """Set by `create_logical_devices`, read by `planned`."""


@functools.lru_cache(maxsize=1)
def inventory() -> Inventory:
    """The physical devices that TensorFlow sees from this process."""
    physical = [
        PhysicalDevice(device.device_type, device.name, *_details(device))
        for device in tf.config.list_physical_devices()
        if device.device_type in ("CPU", "GPU", "TPU")
    ]
    return Inventory(tuple(physical), tf.__version__)


def create_logical_devices(spec: RunSpec, local_rank: LocalRank | None = None) -> None:
    """Create the logical devices of a run. Call it before TensorFlow's runtime starts.

    Logical CPUs share the host's cores. Logical GPUs share a GPU's memory in equal limited parts.
    The process sees only the GPUs that its plan needs: TensorFlow opens a context on every visible
    one, and places ops without a device there. Also sizes TensorFlow's inter-op thread pool.

    `local_rank` is that of a cluster's worker among those on this machine; None if the run has one
    process. Raises SpecError if the machine cannot provide the devices of the spec.
    """
    _Launch.local_rank = local_rank
    wanted = planned(spec)
    row = strategy_catalog.row(spec.strategy)
    is_cluster = row.is_cluster(spec.workers)
    # A change of devices in a cluster takes new processes, so its workers need no spare CPUs.
    min_cpus = 1 if is_cluster else MIN_LOGICAL_CPUS
    num_cpus = max(min_cpus, wanted.num_logical if wanted.kind == "CPU" else 0)
    cpu = tf.config.list_physical_devices("CPU")[0]
    logical = [tf.config.LogicalDeviceConfiguration()] * num_cpus
    tf.config.set_logical_device_configuration(cpu, logical)
    # A delayed replica sleeps on a thread of this pool, and a replica that fetches its batch inside
    # the step blocks one. Without spare threads the other replicas could not run.
    threads = max(num_cpus + SPARE_THREADS, os.cpu_count() or 1)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    gpus = tf.config.list_physical_devices("GPU")
    if not gpus:
        return
    if is_cluster and not row.has_cores and wanted.kind == "GPU":
        own = share_out(spec, len(gpus), local_rank or LocalRank()).gpus
    else:
        own = tuple(range(wanted.num_visible_gpus))
    visible = [gpus[number] for number in own]
    tf.config.set_visible_devices(visible, "GPU")
    for gpu in visible:
        _configure_gpu(gpu, wanted, spec.gpu_memory_mb)


def visible_gpus() -> list[int]:
    """CUDA's numbers of the cards that this process may use."""
    return [int(gpu.name.rpartition(":")[2]) for gpu in tf.config.get_visible_devices("GPU")]


def planned(spec: RunSpec) -> DevicePlan:
    """The devices that this process takes for `spec`; raises SpecError."""
    return plan(spec, inventory(), _Launch.local_rank)


def created() -> dict[str, int]:
    """The number of logical devices of this process by kind; starts TensorFlow's runtime."""
    return {kind: len(tf.config.list_logical_devices(kind)) for kind in ("CPU", "GPU", "TPU")}


def _configure_gpu(
    gpu: tf.config.PhysicalDevice, wanted: DevicePlan, memory_mb: int | None
) -> None:
    """Split a GPU's memory into fixed parts, or let the process allocate it on demand."""
    if wanted.kind == "GPU" and memory_mb is not None:
        part = tf.config.LogicalDeviceConfiguration(memory_limit=memory_mb)
        tf.config.set_logical_device_configuration(gpu, [part] * wanted.logical_per_gpu)
        return
    # Without growth TensorFlow takes nearly all of the memory at once. In a live change a fresh
    # worker starts on the GPU while the worker that it replaces still holds its state there.
    tf.config.experimental.set_memory_growth(gpu, True)


def _details(device: tf.config.PhysicalDevice) -> tuple[str, str]:
    """Return model and compute capability of a GPU, as far as TensorFlow says."""
    details = tf.config.experimental.get_device_details(device)
    capability = details.get("compute_capability") or ()
    return str(details.get("device_name", "")), ".".join(map(str, capability))


if __name__ == "__main__":
    print(json.dumps(inventory().to_json()))
