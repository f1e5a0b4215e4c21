"""The rank of a process among the processes of its machine, which share its GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from strategy_core.cluster.tasks import Cluster
from strategy_core.planning.gpu_allocation import LocalRank

GIVEN = "CUDA_VISIBLE_DEVICES"
"""Set by engines that assign GPUs to processes: a process that has it owns all GPUs it sees."""


def local_rank_of(
    cluster: Cluster, process: int, has_own_launcher: bool, environment: Mapping[str, str]
) -> LocalRank:
    """The rank of a process on its machine, and the number of workers there.

    All processes of a common launcher are on the same machine. With separate launchers, processes
    are on the same machine if their addresses have the same host, unless this one was started with
    GPUs of its own.
    """
    workers = [task for task in cluster.tasks if task.role == "worker"]
    own = cluster.tasks[process]
    if own not in workers or (has_own_launcher and environment.get(GIVEN)):
        return LocalRank()
    if has_own_launcher:
        workers = [task for task in workers if _host(task.address) == _host(own.address)]
    return LocalRank(workers.index(own), len(workers))


def _host(address: str) -> str:
    return address.rpartition(":")[0]
