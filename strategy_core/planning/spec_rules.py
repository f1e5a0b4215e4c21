"""What a strategy asks of the fields of a request, as far as its text tells. Free of TensorFlow."""

from __future__ import annotations

import math

from strategy_core.planning import strategy_catalog
from strategy_core.planning.strategy_catalog import StrategyRow
from strategy_lab.profiles.errors import SpecError
from strategy_lab.profiles.spec.run_spec import RunSpec, TpuLayout


def check_fields(spec: RunSpec) -> None:
    """Raise SpecError for a strategy that does not exist, or fields that it cannot take."""
    row = strategy_catalog.row(spec.strategy)
    count = spec.device_request.count
    if row.has_cores and count is not None:
        check_cores(spec.tpu, count, spec.workers)
    replicas = num_replicas(spec)
    check_batch(spec.global_batch_size, 1 if row.has_servers else replicas)
    _check_processes(spec, row)
    check_delays(spec, replicas)
    if row.has_one_replica and not row.takes_first_device and count not in (None, 1):
        raise SpecError(
            f"{row.name} runs on exactly one device",
            f"devices={spec.devices!r}",
            "Name one device, or choose mirrored",
            field="devices",
        )


def num_replicas(spec: RunSpec) -> int | None:
    """Replicas as far as the text tells; None where the machine decides."""
    row, count = strategy_catalog.row(spec.strategy), spec.device_request.count
    return replicas_of(row, count, spec.workers, spec.tpu.cores_per_replica)


def replicas_of(
    row: StrategyRow, num_devices: int | None, num_workers: int, cores_per_replica: int
) -> int | None:
    """Replicas on so many devices; None if that number is not known and counts."""
    if row.has_one_replica:
        return 1
    if num_devices is None:
        return None
    if row.has_cores:  # its devices are all cores, on however many hosts
        return max(1, num_devices // cores_per_replica)
    return num_devices * num_workers


def _check_processes(spec: RunSpec, row: StrategyRow) -> None:
    is_cluster = row.is_cluster(spec.workers)
    several = [each.name for each in strategy_catalog.rows() if each.runs_in != "one"]
    if spec.workers > 1 and not is_cluster:
        raise SpecError(
            f"Several workers are for {', '.join(several)}",
            f"workers={spec.workers} with {row.name}",
            "Choose one of those, or leave workers at 1",
            field="workers",
        )
    if spec.network.emulates and not is_cluster:
        raise SpecError(
            "Links are emulated between the processes of a cluster",
            f"network.rate_mbit, delay_ms or interfaces with {row.name}",
            f"Choose {', '.join(several)} with several processes, or leave them out",
            field="network",
        )
    if row.has_servers:
        _check_servers(spec, row)
    else:
        _check_no_servers(spec, row)


def _check_servers(spec: RunSpec, row: StrategyRow) -> None:
    if not spec.parameter_servers:
        raise SpecError(
            f"The {row.name} strategy keeps its variables on at least one parameter server",
            "parameter_servers=0",
            "Set parameter_servers",
            field="parameter_servers",
        )
    if spec.loop == "fit":
        raise SpecError(
            f"Keras 3 fit does not run under the {row.name} strategy",
            "loop=fit",
            "Choose loop=custom",
            field="loop",
        )


def _check_no_servers(spec: RunSpec, row: StrategyRow) -> None:
    if spec.parameter_servers:
        raise SpecError(
            f"The {row.name} strategy has no parameter servers",
            f"parameter_servers={spec.parameter_servers}",
            "Choose parameter-server, or leave parameter_servers out",
            field="parameter_servers",
        )
    if spec.parameter_server.partitioner != "none":
        raise SpecError(
            "Weights are cut into parts for parameter servers",
            f"partitioner={spec.parameter_server.partitioner} with {row.name}",
            "Choose parameter-server, or set parameter_server.partitioner to none",
            field="parameter_server.partitioner",
        )


def check_delays(spec: RunSpec, num_replicas: int | None) -> None:
    """Every planned delay names a replica that there is and can sleep; raises SpecError."""
    row = strategy_catalog.row(spec.strategy)
    if spec.inject and row.has_cores and row.is_cluster(spec.workers):
        raise SpecError(
            "A TPU's replica is slowed down by Python, which does not run on the hosts of a pod",
            f"inject with workers={spec.workers}",
            "Set workers=1, or leave inject out",
            field="inject",
        )
    for delay in spec.inject:
        if delay.worker >= spec.workers:
            raise SpecError(
                f"A delay names a worker between 0 and {spec.workers - 1}",
                f"worker={delay.worker}",
                field="inject",
            )
        if num_replicas is not None and delay.replica >= num_replicas // spec.workers:
            raise SpecError(
                f"A delay names a replica between 0 and {num_replicas // spec.workers - 1}",
                f"replica={delay.replica}",
                field="inject",
            )


def check_cores(layout: TpuLayout, num_cores: int, num_hosts: int = 1) -> None:
    """The cores fill their mesh, and hosts and replicas share them evenly; raises SpecError."""
    if num_cores % num_hosts:
        raise SpecError(
            "Every host of a pod has the same number of cores",
            f"{num_cores} cores on {num_hosts} hosts",
            field="workers",
        )
    if num_cores % layout.cores_per_replica:
        raise SpecError(
            "The number of TPU cores is a multiple of the cores per replica",
            f"{num_cores} cores, {layout.cores_per_replica} per replica",
            field="tpu.cores_per_replica",
        )
    per_host = num_cores // num_hosts
    if per_host % layout.cores_per_replica:
        raise SpecError(
            "The cores of a replica are on one host",
            f"{per_host} cores on each of {num_hosts} hosts, {layout.cores_per_replica} per "
            "replica",
            "Take fewer hosts, or fewer cores per replica",
            field="workers",
        )
    if layout.topology is not None and math.prod(layout.topology) != num_cores:
        raise SpecError(
            "A TPU topology has as many places as there are cores",
            f"{layout.topology} for {num_cores} cores",
            "Leave tpu.topology out for the usual mesh",
            field="tpu.topology",
        )


def check_batch(global_batch_size: int, num_replicas: int | None) -> None:
    """A global batch is shared evenly by the replicas; raises SpecError."""
    if num_replicas is None or global_batch_size % num_replicas == 0:
        return
    near = max(1, round(global_batch_size / num_replicas)) * num_replicas
    rule = (
        "The global batch holds at least one example per replica"
        if global_batch_size < num_replicas
        else "The global batch size is a multiple of the number of replicas"
    )
    raise SpecError(
        rule,
        f"global_batch_size={global_batch_size} for {num_replicas} replicas",
        f"The nearest that fits is {near}",
        field="global_batch_size",
    )
