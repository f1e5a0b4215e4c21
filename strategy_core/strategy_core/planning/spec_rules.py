"""What a strategy asks of the fields of a request, as far as its text tells. Free of TensorFlow."""

from __future__ import annotations

import math

from strategy_core.planning import strategy_catalog
from strategy_core.planning.strategy_catalog import StrategyRow
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec, TpuLayout
from strategy_profiles.user_input.text import quoted


def check_fields(spec: RunSpec) -> None:
    """Raise SpecError for a strategy that does not exist, or fields that it cannot take."""
    row = strategy_catalog.row(spec.strategy)
    count = spec.device_request.count
    if row.has_cores and count is not None:
        check_cores(spec.tpu, count, spec.workers)
    replicas = num_replicas(spec)
    check_batch(spec.global_batch_size, 1 if row.has_servers else replicas)
    _check_processes(spec, row)
    check_xla(spec, replicas)
    check_delays(spec, replicas)
    if row.has_one_replica and not row.takes_first_device and count not in (None, 1):
        raise SpecError(
            f"{row.name} uses a single device, not devices={quoted(spec.devices)}",
            advice="Name one device, or choose mirrored",
            field="devices",
        )


def num_replicas(spec: RunSpec) -> int | None:
    """Return the replicas of a spec; None if they depend on the machine's inventory."""
    row, count = strategy_catalog.row(spec.strategy), spec.device_request.count
    return replicas_of(row, count, spec.workers, spec.tpu.cores_per_replica)


def replicas_of(
    row: StrategyRow, num_devices: int | None, num_workers: int, cores_per_replica: int
) -> int | None:
    """Return the number of replicas; None if it depends on `num_devices`, which is unknown."""
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
            f"{row.name} runs in one process, not workers={spec.workers}",
            advice=f"Choose {', '.join(several)}, or leave workers at 1",
            field="workers",
        )
    if is_cluster and not row.has_cores:
        _check_one_cpu(spec)
    if spec.network.emulates and not is_cluster:
        raise SpecError(
            f"{row.name} runs in one process, so network.rate_mbit, delay_ms and interfaces "
            "have no effect",
            advice=f"Choose {', '.join(several)} with several processes, or leave them out",
            field="network",
        )
    if row.has_servers:
        _check_servers(spec, row)
    else:
        _check_no_servers(spec, row)


def _check_one_cpu(spec: RunSpec) -> None:
    request = spec.device_request
    is_one = request.count in (None, 1) and max(request.indices, default=0) == 0
    if request.kind == "cpu" and not is_one:
        raise SpecError(
            f"devices={quoted(spec.devices)} is more than one CPU per worker: TensorFlow runs "
            "one replica on the CPU of each worker of a cluster",
            advice="Choose cpu:1 and more workers",
            field="devices",
        )


def _check_servers(spec: RunSpec, row: StrategyRow) -> None:
    if not spec.parameter_servers:
        raise SpecError(
            f"{row.name} needs at least one parameter server, not parameter_servers=0",
            advice="Set parameter_servers",
            field="parameter_servers",
        )
    if spec.loop == "fit":
        raise SpecError(
            f"Keras 3 does not support fit under {row.name}, so loop=fit is not possible",
            advice="Choose loop=custom",
            field="loop",
        )


def _check_no_servers(spec: RunSpec, row: StrategyRow) -> None:
    if spec.parameter_servers:
        raise SpecError(
            f"{row.name} uses no parameter servers, not parameter_servers={spec.parameter_servers}",
            advice="Choose parameter-server, or leave parameter_servers out",
            field="parameter_servers",
        )
    if spec.parameter_server.partitioner != "none":
        raise SpecError(
            f"{row.name} does not split weights, so "
            f"parameter_server.partitioner={spec.parameter_server.partitioner} has no effect",
            advice="Choose parameter-server, or set parameter_server.partitioner to none",
            field="parameter_server.partitioner",
        )


def check_xla(spec: RunSpec, num_replicas: int | None) -> None:
    """Raise SpecError where XLA cannot compile the step, or compiles it in any case."""
    if not spec.xla:
        return
    row = strategy_catalog.row(spec.strategy)
    if row.no_xla:
        raise SpecError(
            f"{row.name} does not take xla=true: {row.no_xla}", advice="Set xla=false", field="xla"
        )
    if spec.loop != "fit":
        return
    problem = None
    if num_replicas not in (None, 1):
        problem = (
            f"xla=true does not work with loop=fit on {num_replicas} replicas: Keras compiles the "
            "whole step, and its update of the variables of other replicas fails"
        )
    elif spec.inject:
        problem = "xla=true does not work with loop=fit and inject: XLA cannot compile a delay"
    if problem is not None:
        raise SpecError(problem, advice="Choose loop=custom, or set xla=false", field="xla")


def check_delays(spec: RunSpec, num_replicas: int | None) -> None:
    """Every planned delay names a replica that there is and can sleep; raises SpecError."""
    row = strategy_catalog.row(spec.strategy)
    if spec.inject and row.has_cores and row.is_cluster(spec.workers):
        raise SpecError(
            f"inject does not work on a TPU pod (workers={spec.workers}): the delay is "
            "Python code, which the hosts of a pod do not run",
            advice="Set workers=1, or leave inject out",
            field="inject",
        )
    for delay in spec.inject:
        if delay.worker >= spec.workers:
            raise SpecError(
                f"The delay names worker={delay.worker}, but "
                f"{_have(spec.workers, 'the run', 'worker')}",
                field="inject",
            )
        if num_replicas is not None and delay.replica >= num_replicas // spec.workers:
            raise SpecError(
                f"The delay names replica={delay.replica}, but "
                f"{_have(num_replicas // spec.workers, 'each worker', 'replica')}",
                field="inject",
            )


def _have(number: int, owner: str, what: str) -> str:
    """`the run has only worker 0`, `each worker has replicas 0 to 3`."""
    return f"{owner} has " + (f"only {what} 0" if number == 1 else f"{what}s 0 to {number - 1}")


def check_cores(layout: TpuLayout, num_cores: int, num_hosts: int = 1) -> None:
    """The cores fill their mesh, and hosts and replicas share them evenly; raises SpecError."""
    if num_cores % num_hosts:
        raise SpecError(
            f"{num_cores} cores cannot be shared equally among {num_hosts} hosts",
            advice="Choose a number of workers that divides the number of cores",
            field="workers",
        )
    if num_cores % layout.cores_per_replica:
        raise SpecError(
            f"{num_cores} cores cannot be divided into replicas of "
            f"{layout.cores_per_replica} cores",
            advice="Choose cores_per_replica so that it divides the number of cores",
            field="tpu.cores_per_replica",
        )
    per_host = num_cores // num_hosts
    if per_host % layout.cores_per_replica:
        raise SpecError(
            f"A replica of {layout.cores_per_replica} cores does not fit on hosts of "
            f"{per_host} cores each: a replica stays on one host",
            advice="Use fewer hosts, or fewer cores per replica",
            field="workers",
        )
    if layout.topology is not None and math.prod(layout.topology) != num_cores:
        raise SpecError(
            f"tpu.topology={layout.topology} has {math.prod(layout.topology)} cores, but the "
            f"run has {num_cores}",
            advice="Leave tpu.topology out for the default mesh",
            field="tpu.topology",
        )


def check_batch(global_batch_size: int, num_replicas: int | None) -> None:
    """A global batch is shared evenly by the replicas; raises SpecError."""
    if num_replicas is None or global_batch_size % num_replicas == 0:
        return
    near = max(1, round(global_batch_size / num_replicas)) * num_replicas
    raise SpecError(
        f"global_batch_size={global_batch_size} cannot be shared equally among "
        f"{num_replicas} replicas",
        advice=f"The nearest that fits is {near}",
        field="global_batch_size",
        offers=near,
    )
