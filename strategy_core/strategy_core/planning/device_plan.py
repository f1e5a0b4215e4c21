"""Which devices a run takes, from its spec and the machine's inventory. Free of TensorFlow."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from strategy_core.planning import strategy_catalog
from strategy_core.planning.gpu_allocation import LocalRank, share_out
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.spec_rules import check_cores
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.text import quoted

AUTO_CPUS = 4
"""Logical CPUs that `auto` uses without a GPU if the strategy has replicas."""

EMULATED_CORES = 8
"""Default number of virtual CPUs that emulate a TPU's cores."""

_FULL_NAME = "/job:{job}/replica:0/task:{task}/device:{kind}:{index}"


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """The logical devices of a run: one per replica, or one per TPU core."""

    kind: str
    """`CPU`, `GPU` or `TPU`."""
    indices: tuple[int, ...]
    """Logical device numbers, by replica or core."""
    logical_per_gpu: int = 1
    """Logical GPUs on each physical GPU; 1 if GPUs are not split."""
    workers_per_gpu: int = 1
    """Workers on one machine that share each physical GPU."""
    cores_per_replica: int = 1
    """Devices that one replica takes: more than one for a TPU's replica of several cores."""
    num_workers: int = 1
    """Processes that have these devices each."""
    job: str = "localhost"
    """Which TensorFlow job they belong to."""
    in_sync: bool = True
    """Whether all replicas do a step together; else each does steps of its own."""

    @property
    def num_replicas(self) -> int:
        return self.num_workers * len(self.indices) // self.cores_per_replica

    @property
    def num_in_step(self) -> int:
        """Replicas that share the global batch of a step."""
        return self.num_replicas if self.in_sync else 1

    @property
    def replicas_per_worker(self) -> int:
        return self.num_replicas // self.num_workers

    @property
    def names(self) -> list[str]:
        """Full device names, by replica or core."""
        return [
            _FULL_NAME.format(job=self.job, task=task, kind=self.kind, index=index)
            for task in range(self.num_workers)
            for index in self.indices
        ]

    @property
    def shares_gpus(self) -> bool:
        return self.logical_per_gpu * self.workers_per_gpu > 1

    @property
    def num_logical(self) -> int:
        """Logical devices of the kind that must exist."""
        return max(self.indices) + 1

    @property
    def num_visible_gpus(self) -> int:
        """Physical GPUs that a process without peers must see, from the first on.

        Those before a named one are visible, too, so that all keep their numbers.
        """
        return math.ceil(self.num_logical / self.logical_per_gpu) if self.kind == "GPU" else 0


def plan(spec: RunSpec, inventory: Inventory, local_rank: LocalRank | None = None) -> DevicePlan:
    """Return the devices that a run takes on a machine with `inventory`.

    `local_rank` is this worker's rank among the workers of its run on the machine. None means rank
    0 with all workers on this machine. Raises SpecError if the machine or the strategy cannot
    provide `spec.devices`.
    """
    row = strategy_catalog.row(spec.strategy)
    is_cluster = row.is_cluster(spec.workers)
    if row.has_cores:
        return _tpu_pod(spec, inventory) if is_cluster else _tpu_cores(spec, inventory)
    if is_cluster:
        return _cluster_worker(spec, inventory, local_rank or LocalRank(0, spec.workers))
    return _without_tpu(spec, inventory)


def _cluster_worker(spec: RunSpec, inventory: Inventory, local_rank: LocalRank) -> DevicePlan:
    """The devices of one worker of a cluster. All workers have the same number."""
    request, gpus = spec.device_request, inventory.count("GPU")
    in_sync = not strategy_catalog.row(spec.strategy).has_servers
    if not in_sync:
        gpus = 0
        _check_served_on_cpu(spec)
    is_gpu = request.kind == "gpu" or (request.kind == "auto" and gpus > 0)
    devices = _worker_gpus(spec, inventory, local_rank) if is_gpu else DevicePlan("CPU", (0,))
    return replace(devices, num_workers=spec.workers, job="worker", in_sync=in_sync)


def _worker_gpus(spec: RunSpec, inventory: Inventory, local_rank: LocalRank) -> DevicePlan:
    """A worker's logical GPUs, numbered from 0 because the worker sees only its own GPUs."""
    if not inventory.count("GPU"):
        return _without_tpu(spec, inventory)
    share = share_out(spec, inventory.count("GPU"), local_rank)
    indices = tuple(range(share.count))
    return DevicePlan("GPU", indices, share.logical_per_gpu, workers_per_gpu=share.workers_per_gpu)


def _check_served_on_cpu(spec: RunSpec) -> None:
    if spec.device_request.kind == "gpu":
        raise SpecError(
            f"{spec.strategy} runs on CPUs in this lab, not on devices={quoted(spec.devices)}",
            advice="Choose cpu:1 and more workers",
            field="devices",
        )


def _without_tpu(spec: RunSpec, inventory: Inventory) -> DevicePlan:
    """The CPUs or GPUs that one process takes; raises SpecError if `spec` asks for TPU cores."""
    request = spec.device_request
    if request.kind == "tpu":
        raise SpecError(
            f"{spec.strategy} cannot use devices={quoted(spec.devices)}: only the tpu "
            "strategy uses TPU cores",
            advice="Choose the tpu strategy, or other devices",
            field="devices",
        )
    if request.kind == "auto":
        return _auto(spec, inventory)
    if request.count == 0:
        raise SpecError(
            f"devices={quoted(spec.devices)} is no device at all",
            advice="Choose at least one",
            field="devices",
        )
    indices = request.indices or tuple(range(request.count or 1))
    if strategy_catalog.row(spec.strategy).takes_first_device:
        indices = _only_the_first(spec, indices, inventory)
    if request.kind == "cpu":
        return DevicePlan("CPU", indices)
    return _gpus(spec, indices, inventory.count("GPU"))


def _only_the_first(
    spec: RunSpec, indices: tuple[int, ...], inventory: Inventory
) -> tuple[int, ...]:
    """The device on which TensorFlow places ops by itself, however many devices exist."""
    has_gpus = inventory.count("GPU") > 0
    if 0 not in indices or (has_gpus and spec.device_request.kind == "cpu"):
        first = "GPU" if has_gpus else "CPU"
        raise SpecError(
            f"The {spec.strategy} strategy computes on the first {first} of this machine, not on "
            f"devices={quoted(spec.devices)}",
            advice="Choose one-device to use another device",
            field="devices",
        )
    return (0,)


def _auto(spec: RunSpec, inventory: Inventory) -> DevicePlan:
    """Every GPU, or a few logical CPUs without one; one for strategies of one replica."""
    gpus = inventory.count("GPU")
    count = gpus or AUTO_CPUS
    if strategy_catalog.row(spec.strategy).has_one_replica:
        count = 1
    return DevicePlan("GPU" if gpus else "CPU", tuple(range(count)))


def _tpu_cores(spec: RunSpec, inventory: Inventory) -> DevicePlan:
    """The cores of a real TPU, or the logical devices that emulate them."""
    request, cores = spec.device_request, inventory.count("TPU")
    if request.kind == "tpu" and not cores:
        raise SpecError(
            "devices='tpu' needs a real TPU; this machine has none",
            advice=f"Emulate one on virtual CPUs (`--devices cpu:{EMULATED_CORES}`)",
            field="devices",
        )
    if request.indices and request.indices != tuple(range(len(request.indices))):
        raise SpecError(
            f"devices={quoted(spec.devices)} is not a range from device 0, which emulated TPU "
            "cores need",
            advice=f"Give a number of devices, such as cpu:{EMULATED_CORES}",
            field="devices",
        )
    if request.kind in ("tpu", "auto"):
        count, kind = cores or EMULATED_CORES, "TPU" if cores else "CPU"
        devices = DevicePlan(kind, tuple(range(count)))
    else:
        devices = _without_tpu(spec, inventory)
    check_cores(spec.tpu, len(devices.indices), spec.workers)
    return replace(devices, cores_per_replica=spec.tpu.cores_per_replica)


def _tpu_pod(spec: RunSpec, inventory: Inventory) -> DevicePlan:
    """The cores of an emulated TPU pod: an equal part for each of its hosts, one process each."""
    whole = _tpu_cores(spec, inventory)
    if whole.kind != "CPU":
        raise SpecError(
            f"devices={quoted(spec.devices)} cannot be shared by {spec.workers} hosts: an "
            "emulated pod uses virtual CPUs as cores",
            advice=f"Choose cpu:{EMULATED_CORES}, or workers=1 for GPUs and for a real TPU",
            field="devices",
        )
    each = whole.indices[: len(whole.indices) // spec.workers]
    return replace(whole, indices=each, num_workers=spec.workers, job="host")


def _gpus(spec: RunSpec, indices: tuple[int, ...], num_gpus: int) -> DevicePlan:
    if num_gpus == 0:
        raise SpecError(
            f"devices={quoted(spec.devices)} needs a GPU that TensorFlow can use; this "
            "machine has none",
            advice="Choose virtual CPUs (`--devices cpu:4`)",
            field="devices",
        )
    wanted = max(indices) + 1
    if spec.gpu_memory_mb is None and wanted > num_gpus:
        raise SpecError(
            f"devices={quoted(spec.devices)} needs {wanted} GPUs; this machine has {num_gpus}",
            advice="Choose fewer, or set gpu_memory_mb to put several logical GPUs on one GPU",
            field="devices",
        )
    return DevicePlan("GPU", indices, logical_per_gpu=math.ceil(wanted / num_gpus))
