"""A TPU's cores on several hosts: what a spec may ask for, and whose a device is."""

from __future__ import annotations

from typing import Any

import pytest

from strategy_core.cluster import tasks
from strategy_core.planning import validation
from strategy_core.planning.device_plan import plan
from strategy_core.planning.inventory import Inventory, PhysicalDevice
from strategy_core.planning.spec_rules import num_replicas
from strategy_profiles.errors import SpecError
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.topology import has_coordinator, host_process, worker_of
from strategy_profiles.spec.run_spec import RunSpec, parse_spec

CPU = Inventory((PhysicalDevice("CPU", "/physical_device:CPU:0"),), "2.21.0")


def pod(**fields: Any) -> RunSpec:
    return parse_spec({"strategy": "tpu", "devices": "cpu:8", "workers": 2} | fields)


def segment(strategy: str, num_workers: int, devices: list[str]) -> SegmentOpened:
    return SegmentOpened(
        segment=0,
        strategy=strategy,
        num_replicas=len(devices),
        num_workers=num_workers,
        global_batch_size=8,
        first_step=0,
        started_ns=0,
        replica_devices=devices,
        cross_device_ops="none",
        spec={},
        core_devices=[[device] for device in devices] if strategy == "tpu" else None,
    )


def test_cores_are_those_of_all_hosts() -> None:
    spec = pod(tpu={"cores_per_replica": 2})
    assert num_replicas(spec) == 4
    planned = plan(spec, CPU)
    assert (planned.num_replicas, planned.replicas_per_worker) == (4, 2)
    assert [planned.names[at] for at in (0, 3, 4)] == [
        f"/job:host/replica:0/task:{task}/device:CPU:{core}"
        for task, core in ((0, 0), (0, 3), (1, 0))
    ]


@pytest.mark.parametrize(
    ("fields", "said", "field"),
    [
        ({"workers": 3}, "8 cores cannot be shared equally among 3 hosts", "workers"),
        (
            {"workers": 4, "tpu": {"cores_per_replica": 4}},
            "4 cores does not fit on hosts of 2",
            "workers",
        ),
        ({"strategy": "mirrored"}, "mirrored runs in one process", "workers"),
        ({"inject": [{"replica": 0, "ms": 1}]}, "does not work on a TPU pod (workers=2)", "inject"),
    ],
)
def test_a_spec_that_no_pod_can_run_is_refused(
    fields: dict[str, Any], said: str, field: str
) -> None:
    with pytest.raises(SpecError) as refused:
        validation.check(pod(**fields))
    assert said in str(refused.value)
    assert refused.value.field == field


@pytest.mark.parametrize("devices", ["gpu:2", "tpu"])
def test_hosts_have_virtual_cpus(devices: str) -> None:
    gpus = (PhysicalDevice("GPU", "/physical_device:GPU:0"),) * 2
    core = PhysicalDevice("TPU", "/physical_device:TPU:0")
    with pytest.raises(SpecError, match=f"devices='{devices}' cannot be shared by 2 hosts"):
        plan(
            pod(devices=devices),
            Inventory((*CPU.physical, *gpus, core, core), "2.21.0"),
        )


def test_a_coordinator_comes_beside_the_hosts() -> None:
    spec = pod()
    assert tasks.roles(spec) == [("chief", 0), ("host", 0), ("host", 1)]
    cluster = tasks.cluster_of(spec, ["a:1", "b:1", "c:1"], ["a:2", "b:2", "c:2"])
    assert cluster.has_coordinator
    assert cluster.num_workers == 2
    assert [task.title for task in cluster.tasks] == ["coordinator", "host 0", "host 1"]
    assert cluster.profilers == ["b:2", "c:2"]
    assert tasks.Cluster.from_json(cluster.to_json()) == cluster
    assert tasks.roles(pod(workers=1)) == []


def test_devices_tell_whose_they_are() -> None:
    assert host_process("/job:host/replica:0/task:1/device:CPU:3") == 2
    assert host_process("/job:host/task:0") == 1
    for other in ("/job:chief/replica:0/task:0/device:CPU:0", "/job:worker/task:1", "", None):
        assert host_process(other) is None


def test_replicas_tell_where_they_are() -> None:
    hosts = [f"/job:host/replica:0/task:{task}/device:CPU:{n}" for task in (0, 1) for n in (0, 1)]
    of_pod = segment("tpu", 2, hosts)
    assert [worker_of(of_pod, replica) for replica in range(4)] == [1, 1, 2, 2]
    assert has_coordinator(of_pod)
    local = [f"/job:localhost/replica:0/task:0/device:CPU:{n}" for n in range(4)]
    in_one = segment("tpu", 1, local)
    assert {worker_of(in_one, replica) for replica in range(4)} == {0}
    assert not has_coordinator(in_one)
    workers = [f"/job:worker/replica:0/task:{task}/device:CPU:0" for task in range(4)]
    of_workers = segment("multi-worker-mirrored", 4, workers)
    assert [worker_of(of_workers, replica) for replica in range(4)] == [0, 1, 2, 3]
