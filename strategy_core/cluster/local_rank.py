"""The rank of a process among the processes of its machine, which share its GPUs."""

from __future__ import annotations

from collections.abc import Mapping

from strategy_core.cluster.tasks import Cluster
from strategy_core.planning.gpu_allocation import Seat

GIVEN = "CUDA_VISIBLE_DEVICES"
"""Engines that hand cards out to processes set this: what such a process sees is its own."""


def local_rank_of(
    cluster: Cluster, process: int, has_own_launcher: bool, environment: Mapping[str, str]
) -> Seat:
    """The local_rank of a process on its machine.

    One launcher has all of its processes beside each other; else those are, that have the same host
    in their addresses, unless this one was started with GPUs of its own.
    """
    workers = [task for task in cluster.tasks if task.role == "worker"]
    own = cluster.tasks[process]
    if own not in workers or (has_own_launcher and environment.get(GIVEN)):
        return Seat()
    if has_own_launcher:
        workers = [task for task in workers if _host(task.address) == _host(own.address)]
    return Seat(workers.index(own), len(workers))


def _host(address: str) -> str:
    return address.rpartition(":")[0]
