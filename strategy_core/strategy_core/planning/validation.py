"""Checks a spec before anything runs. Free of TensorFlow.

`check` returns a `CheckedSpec`, which the launcher takes as it is: callers that show an error
beside its field, or plan several runs, check first and hand the answer on. The launcher checks a
plain RunSpec. Each run of a sweep is one: it may start hours after it was planned, and a file that
has changed by then costs one run. A worker relies on all this, checks the devices that only its
process has seen, and checks the changes that reach it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from strategy_core.planning import (
    collective_algorithms,
    data_path,
    strategy_catalog,
    workload_catalog,
)
from strategy_core.planning.device_plan import plan
from strategy_core.planning.gpu_allocation import LocalRank
from strategy_core.planning.inventory import Inventory
from strategy_core.planning.reconfiguration import changed_spec
from strategy_core.planning.spec_rules import (
    check_batch,
    check_delays,
    check_fields,
    check_xla,
)
from strategy_profiles.errors import SpecError
from strategy_profiles.guards import parse_program
from strategy_profiles.spec.run_spec import RunSpec

"""Limit for a workload file. Python's parser takes about 100 times its size in memory."""


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """A spec that `check` found possible here."""

    spec: RunSpec
    knows_devices: bool
    """Whether the machine's devices were known then."""


def check(
    spec: RunSpec | CheckedSpec,
    inventory: Inventory | None = None,
    local_rank: LocalRank | None = None,
) -> CheckedSpec:
    """Raise SpecError if the run, or one of its scripted changes, is not possible here.

    Devices are checked only if `inventory` is given. `local_rank` is this worker's rank among the
    workers of its run on this machine; None means that all of them are on it. Of a CheckedSpec
    only its devices are checked, if they were not known before.
    """
    checked = spec if isinstance(spec, CheckedSpec) else _check_request(spec)
    if inventory is None or checked.knows_devices:
        return checked
    check_devices(checked.spec, inventory, local_rank)
    return CheckedSpec(checked.spec, knows_devices=True)


def _check_request(spec: RunSpec) -> CheckedSpec:
    for planned in _with_planned_changes(spec):
        check_fields(planned)
        _check_files(planned)
    return CheckedSpec(spec, knows_devices=False)


def check_devices(spec: RunSpec, inventory: Inventory, local_rank: LocalRank | None) -> None:
    """Raise SpecError if these devices cannot do the run, or one of its scripted changes."""
    for planned in _with_planned_changes(spec):
        _check_devices(planned, inventory, local_rank)


def _with_planned_changes(spec: RunSpec) -> Iterator[RunSpec]:
    """Yield the spec, then the spec after each scripted change in order; raises SpecError."""
    yield spec
    now = spec
    for planned in sorted(spec.reconfigure, key=lambda change: change.step):
        if now.steps is not None and planned.step >= now.steps:
            raise SpecError(
                f"The change planned at step {planned.step} comes too late: the run has "
                f"{now.steps} steps",
                field="reconfigure",
            )
        now = changed_spec(now, planned.changes, planned.step)
        yield now


def _check_files(spec: RunSpec) -> None:
    path = workload_catalog.find(spec.workload)
    if spec.workload.endswith(".py"):
        _check_syntax(path)
    if spec.data is not None:
        data_path.check(spec.data)


def _check_syntax(path: Path) -> None:
    """Raise SpecError if a workload file cannot be read, is too large or is not valid Python.

    The file is parsed here and not run. The worker finds every other error in it.
    """
    try:
        parse_program(path)
    except SyntaxError as error:
        where = f"{path}:{error.lineno}" if error.lineno else f"{path}"
        raise SpecError(
            f"The workload file is not valid Python: {where}: {error.msg}",
            advice="Correct that line" if error.lineno else "",
            field="workload",
        ) from None
    except (OSError, ValueError) as error:
        raise SpecError(
            f"The workload file {path} cannot be read as Python: {error}",
            advice="Read large constants from files of their own",
            field="workload",
        ) from None


def _check_devices(spec: RunSpec, inventory: Inventory, local_rank: LocalRank | None) -> None:
    reason = strategy_catalog.why_not(strategy_catalog.row(spec.strategy), inventory)
    if reason is not None:
        raise SpecError(f"{spec.strategy} cannot run on this machine: {reason}", field="strategy")
    planned = plan(spec, inventory, local_rank)
    num_replicas = planned.num_replicas
    check_batch(spec.global_batch_size, planned.num_in_step)
    check_xla(spec, num_replicas)
    check_delays(spec, num_replicas)
    collective_algorithms.decide(spec, planned)
