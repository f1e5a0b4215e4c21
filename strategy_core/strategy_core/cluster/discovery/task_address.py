"""Which task of a cluster this process is, from any source: its peers, its own number, its engine.

Engines describe a cluster by role, as `TF_CONFIG` does. A run numbers its processes over all roles
(`tasks`), so that a `chief` beside workers is worker 0, and a coordinator comes first.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from strategy_core.cluster.tasks import Cluster, Role, Task
from strategy_core.planning import strategy_catalog
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec
from strategy_profiles.user_input.text import quoted, whole_or_none

_ROLES = ("chief", "worker", "ps")


@dataclass(frozen=True)
class OwnTask:
    """One task of a cluster whose processes are started separately, each on its own host."""

    cluster: Cluster
    process: int
    """Number of this process among the run's processes."""
    engine: str
    """The source of the description: `TF_CONFIG`, `Slurm`, ..."""
    job: str = ""
    """The engine's name for this run; may be empty."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that the engine requires for this task: its share of the host's GPUs."""

    @property
    def task(self) -> Task:
        return self.cluster.tasks[self.process]

    def spec_changes(self, strategy: str) -> dict[str, Any]:
        """Changes of a run's spec that follow from the cluster.

        `strategy` is the strategy that the spec names.
        """
        servers = sum(task.role == "ps" for task in self.cluster.tasks)
        return {
            "strategy": strategy_in_cluster(strategy, has_servers=servers > 0),
            "workers": self.cluster.num_workers,
            "parameter_servers": servers,
        }

    def run_id(self, spec: RunSpec | None) -> str:
        """An identifier that is equal in all processes of a run that were started with the same
        spec, or of a program, which has none."""
        spec_json = None if spec is None else spec.to_json()
        identity = json.dumps([spec_json, self.cluster.to_json(), self.job], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()[:16]


def strategy_in_cluster(strategy: str, *, has_servers: bool) -> str:
    """The strategy that was asked for if it can run in such a cluster; otherwise the one that
    can."""
    row = strategy_catalog.find(strategy)
    is_cluster = row is not None and row.runs_in == "several"
    if row and is_cluster and has_servers == row.has_servers == row.has_coordinator:
        return strategy
    return strategy_catalog.first_in_cluster(has_servers=has_servers).name


def own_task_from_roles(
    addresses: Mapping[str, Any], role: str, index: int, engine: str, **more: Any
) -> OwnTask:
    """Return task `role` `index` of a cluster described as in `TF_CONFIG`.

    Raises SpecError if no run can be in that cluster.
    """
    lists = {job: _in_order(job, tasks) for job, tasks in addresses.items()}
    unknown = sorted(set(lists) - set(_ROLES))
    if unknown:
        raise SpecError(
            f"{engine} names unknown tasks: {', '.join(unknown)}",
            advice=f"The tasks of a run are {', '.join(_ROLES)}",
        )
    ordered = _by_process(lists)
    tasks = [Task(*task) for task in ordered]
    _check_addresses([task.address for task in tasks])
    wanted = _as_in_run(lists, role, index)
    for process, task in enumerate(tasks):
        if (task.role, task.index) == wanted:
            return OwnTask(Cluster(tuple(tasks)), process, engine, **more)
    sizes = ", ".join(f"{len(own)} {job}" for job, own in lists.items())
    raise SpecError(f"{engine} has no task {role} {index}; it has {sizes}")


def own_task_from_addresses(
    addresses: Sequence[str], num_servers: int, process: int, engine: str
) -> OwnTask:
    """Return one task of a cluster given by its addresses, in the order of the run's
    processes.

    The last `num_servers` are parameter servers; if there are any, the first is the coordinator.
    Raises SpecError.
    """
    num_chiefs = 1 if num_servers else 0
    workers = list(addresses[num_chiefs : len(addresses) - num_servers])
    roles = {
        "chief": list(addresses[:num_chiefs]),
        "worker": workers,
        "ps": list(addresses[len(addresses) - num_servers :]),
    }
    first = "chief" if num_servers else "worker"
    return at_process(own_task_from_roles(roles, first, 0, engine), process)


def at_process(own_task: OwnTask, process: int) -> OwnTask:
    """Return the task of another process of the same cluster; raises SpecError."""
    last = len(own_task.cluster) - 1
    if not 0 <= process <= last:
        raise SpecError(
            f"--index {process} is outside 0 to {last}, the tasks of the cluster", field="index"
        )
    return replace(own_task, process=process)


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`; raises SpecError."""
    host, _, port = address.rpartition(":")
    number = whole_or_none(port)
    if not host or number is None or not 0 < number < 65536:
        raise SpecError(f"{quoted(address)} is not an address", advice="Write host:port")
    return host.strip("[]"), number


def _in_order(job: str, tasks: Any) -> list[str]:
    """Addresses by index: from a list, or from a mapping, which TensorFlow accepts, too."""
    if isinstance(tasks, Mapping):
        try:
            by_index = {int(index): address for index, address in tasks.items()}
        except ValueError:
            by_index = {}
        if sorted(by_index) != list(range(len(tasks))):
            raise SpecError(
                f"The {job} tasks are not numbered from 0 on: {', '.join(map(str, tasks))}"
            )
        tasks = [by_index[index] for index in sorted(by_index)]
    if not isinstance(tasks, list) or not all(isinstance(address, str) for address in tasks):
        raise SpecError(f"The {job} tasks are {quoted(tasks)}, not a list of host:port")
    return tasks


def _by_process(lists: Mapping[str, list[str]]) -> list[tuple[Role, int, str]]:
    """Role, index and address of every task by process number; raises SpecError."""
    chiefs, workers, servers = (lists.get(role, []) for role in _ROLES)
    if len(chiefs) > 1:
        raise SpecError(f"The cluster has {len(chiefs)} chiefs; at most one is possible")
    if servers and not chiefs:
        raise SpecError(
            f"The cluster has {len(servers)} parameter servers but no coordinator, a task of "
            "role chief"
        )
    if not servers:
        workers, chiefs = chiefs + workers, []
    if not workers:
        raise SpecError(f"The cluster has no worker, only {', '.join(lists) or 'no task at all'}")
    processes: list[tuple[Role, int, str]] = [("chief", 0, address) for address in chiefs]
    processes += [("worker", index, address) for index, address in enumerate(workers)]
    processes += [("ps", index, address) for index, address in enumerate(servers)]
    return processes


def _as_in_run(lists: Mapping[str, list[str]], role: str, index: int) -> tuple[str, int]:
    """Role and index as the run numbers them: without servers, a chief is the first worker."""
    if lists.get("ps") or not lists.get("chief"):
        return role, index
    return ("worker", 0) if role == "chief" and index == 0 else (role, index + 1)


def _check_addresses(addresses: Sequence[str]) -> None:
    seen: set[str] = set()
    for address in addresses:
        split_address(address)
        if address in seen:
            raise SpecError(
                f"Two tasks of the cluster have the address {address}", advice="Give each its own"
            )
        seen.add(address)
