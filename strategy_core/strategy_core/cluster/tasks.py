"""The tasks of a cluster: one per process, each with its role and address. Without TensorFlow.

Processes are numbered over the whole run, in the order that run folders and tables use: the leader
is 0. `TF_CONFIG`, the convention of all engines for TensorFlow clusters, numbers the tasks of each
role from 0 instead.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from strategy_core.planning import strategy_catalog
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

Role = Literal["chief", "worker", "ps", "host"]
"""A `host` has cores of a TPU pod."""
_TITLES: dict[str, str] = {
    "chief": "coordinator",
    "worker": "worker",
    "ps": "parameter server",
    "host": "host",
}


@dataclass(frozen=True, slots=True)
class Task:
    """One process of a cluster."""

    role: Role
    index: int
    """Number among the tasks of its role."""
    address: str
    """`host:port` of its gRPC server."""
    profiler: str = ""
    """`host:port` of its profiler; empty without one."""

    @property
    def title(self) -> str:
        """The task's name for users: `worker 1`, `parameter server 0`, `host 1`, `coordinator`."""
        return _TITLES[self.role] if self.role == "chief" else f"{_TITLES[self.role]} {self.index}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The tasks of a run by process number."""

    tasks: tuple[Task, ...]

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def num_workers(self) -> int:
        """Number of processes that train, without parameter servers and the coordinator."""
        return sum(task.role in ("worker", "host") for task in self.tasks)

    @property
    def has_coordinator(self) -> bool:
        """Whether the first process is a coordinator that runs the training on the others."""
        return bool(self.tasks) and self.tasks[0].role == "chief"

    @property
    def profilers(self) -> list[str]:
        """Addresses of the hosts' profilers."""
        return [task.profiler for task in self.tasks if task.profiler]

    def tf_config(self, process: int) -> str:
        """The `TF_CONFIG` of a process."""
        addresses: dict[str, list[str]] = {}
        for task in sorted(self.tasks, key=lambda task: task.index):
            addresses.setdefault(task.role, []).append(task.address)
        own = self.tasks[process]
        return json.dumps({"cluster": addresses, "task": {"type": own.role, "index": own.index}})

    def to_json(self) -> list[dict[str, Any]]:
        return [asdict(task) for task in self.tasks]

    @classmethod
    def from_json(cls, document: Sequence[Mapping[str, Any]]) -> Cluster:
        return cls(tuple(Task(**task) for task in document))


def roles(spec: RunSpec) -> list[tuple[Role, int]]:
    """Role and index of every process of a run; empty if one process is enough."""
    row = strategy_catalog.row(spec.strategy)
    if not row.is_cluster(spec.workers):
        return []
    processes: list[tuple[Role, int]] = [("chief", 0)] if row.has_coordinator else []
    processes += [("host" if row.has_cores else "worker", index) for index in range(spec.workers)]
    return processes + [("ps", index) for index in range(spec.parameter_servers)]


def cluster_of(spec: RunSpec, addresses: Sequence[str], profilers: Sequence[str] = ()) -> Cluster:
    """Return the cluster of a spec whose processes are at `addresses`.

    `addresses` and `profilers` are `host:port` by process number; `profilers` is either empty or as
    long, and only those of TPU hosts are used. Raises SpecError if the number of addresses is not
    that of the run's processes.
    """
    wanted = roles(spec)
    if len(addresses) != len(wanted):
        raise SpecError(
            f"{len(addresses)} addresses were given for the {len(wanted)} processes of this run",
            field="workers",
        )
    listening = [
        profilers[process] if profilers and role == "host" else ""
        for process, (role, _) in enumerate(wanted)
    ]
    tasks = zip(wanted, addresses, listening, strict=True)
    return Cluster(
        tuple(Task(role, index, address, profiler) for (role, index), address, profiler in tasks)
    )
