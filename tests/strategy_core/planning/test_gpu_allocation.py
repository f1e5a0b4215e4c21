"""The GPUs that each worker on a machine takes: by rule, on a machine without GPUs."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_core.cluster.local_rank import local_rank_of
from strategy_core.cluster.tasks import Cluster, cluster_of
from strategy_core.planning import collective_algorithms
from strategy_core.planning.device_plan import plan
from strategy_core.planning.gpu_allocation import LocalRank, Share, share_out
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec, parse_spec


def spec_of(workers: int, **fields: Any) -> RunSpec:
    common = {"strategy": "multi-worker-mirrored", "workers": workers, "global_batch_size": 24}
    return parse_spec(common | fields)


def machine(num_gpus: int) -> Inventory:
    gpus = (PhysicalDevice("GPU", f"/physical_device:GPU:{n}") for n in range(num_gpus))
    return Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"), *gpus), "2.21.0")


def shares(spec: RunSpec, num_gpus: int) -> list[Share]:
    return [
        share_out(spec, num_gpus, LocalRank(rank, spec.workers)) for rank in range(spec.workers)
    ]


@pytest.mark.parametrize(
    ("workers", "devices", "num_gpus", "expected"),
    [
        (2, "gpu:1", 2, [(0,), (1,)]),
        (2, "gpu:2", 4, [(0, 1), (2, 3)]),
        (2, "auto", 4, [(0, 1), (2, 3)]),
        (3, "auto", 4, [(0,), (1,), (2,)]),
        (1, "auto", 2, [(0, 1)]),
        (1, "gpu:0", 2, [(0,)]),
        (1, "gpu:1,gpu:3", 4, [(1, 3)]),
    ],
)
def test_workers_have_whole_gpus_of_their_own(
    workers: int, devices: str, num_gpus: int, expected: list[tuple[int, ...]]
) -> None:
    spec = spec_of(workers, devices=devices)
    allocated = shares(spec, num_gpus)
    assert [share.gpus for share in allocated] == expected
    assert {(share.logical_per_gpu, share.workers_per_gpu) for share in allocated} == {(1, 1)}
    planned = plan(spec, machine(num_gpus))
    assert planned.indices == tuple(range(len(expected[0])))
    assert not planned.shares_gpus
    assert planned.num_replicas == sum(map(len, expected))


@pytest.mark.parametrize(
    ("workers", "devices", "num_gpus", "rule"),
    [
        (3, "gpu:1", 2, "3 workers on this machine need 3 GPUs, 1 each; it has 2"),
        (3, "auto", 2, "3 workers on this machine need 3 GPUs"),
        (2, "gpu:2", 2, "2 workers on this machine need 4 GPUs, 2 each"),
        (2, "gpu:0,gpu:1", 4, "GPUs of a machine that 2 workers share.* such as gpu:2"),
        (1, "gpu:7,gpu:8", 2, "names GPU 8; the machine has 2"),
        (2, "gpu:1", 0, "this machine has none"),
    ],
)
def test_gpus_that_are_not_there_are_refused_in_words(
    workers: int, devices: str, num_gpus: int, rule: str
) -> None:
    with pytest.raises(SpecError, match=rule):
        plan(spec_of(workers, devices=devices), machine(num_gpus))


@pytest.mark.parametrize(
    ("workers", "devices", "num_gpus", "expected"),
    [
        (3, "gpu:1", 2, [Share((0,), 1, 2), Share((1,), 1, 2), Share((0,), 1, 2)]),
        (2, "gpu:2", 1, [Share((0,), 2, 2)] * 2),
        (2, "gpu:4", 4, [Share((0, 1), 2), Share((2, 3), 2)]),
        (2, "gpu:3", 4, [Share((0,), 3), Share((2,), 3)]),
    ],
)
def test_with_memory_shared_out_workers_have_parts_of_gpus(
    workers: int, devices: str, num_gpus: int, expected: list[Share]
) -> None:
    spec = spec_of(workers, devices=devices, gpu_memory_mb=1024)
    assert shares(spec, num_gpus) == expected
    planned = plan(spec, machine(num_gpus))
    assert planned.shares_gpus
    assert len(planned.indices) == expected[0].count
    assert collective_algorithms.decide(spec, planned).name == "collective-ring"
    with pytest.raises(SpecError, match="NCCL needs a GPU for each rank"):
        collective_algorithms.decide(
            spec_of(workers, devices=devices, cross_device_ops="nccl"), planned
        )


def cluster_at(*addresses: str) -> Cluster:
    return cluster_of(spec_of(len(addresses)), addresses)


def test_a_local_rank_counts_the_workers_of_a_machine() -> None:
    spread = cluster_at("10.0.0.1:1", "10.0.0.2:1", "10.0.0.1:2")
    assert [local_rank_of(spread, n, True, {}) for n in range(3)] == [
        LocalRank(0, 2),
        LocalRank(0, 1),
        LocalRank(1, 2),
    ]
    local = [local_rank_of(spread, n, False, {}) for n in range(3)]  # addresses of emulated links
    assert local == [LocalRank(n, 3) for n in range(3)]


def test_gpus_that_an_engine_gave_a_process_are_its_own() -> None:
    beside = cluster_at("10.0.0.1:1", "10.0.0.1:2")
    given = {"CUDA_VISIBLE_DEVICES": "3"}
    assert local_rank_of(beside, 1, True, given) == LocalRank()
    assert local_rank_of(beside, 1, False, given) == LocalRank(1, 2), (
        "a user's own choice for the whole run"
    )
    assert plan(spec_of(2, devices="gpu:1"), machine(1), LocalRank()).num_replicas == 2


def test_a_coordinator_and_its_servers_take_no_gpus() -> None:
    spec = spec_of(2, strategy="parameter-server", parameter_servers=1)
    cluster = cluster_of(spec, [f"a:{n}" for n in range(4)])
    assert [local_rank_of(cluster, n, False, {}) for n in (0, 1, 2, 3)] == [
        LocalRank(),
        LocalRank(0, 2),
        LocalRank(1, 2),
        LocalRank(),
    ]
    assert plan(spec, machine(2)).kind == "CPU"
