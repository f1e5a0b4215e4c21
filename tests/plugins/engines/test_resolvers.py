"""TensorFlow's own resolvers, given what Slurm, Kubernetes and Compute Engine would tell them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from strategy_profiles.errors import LabError

pytestmark = pytest.mark.tf

NODES = [f"n{number}" for number in range(1, 12)]


@pytest.fixture
def slurm_step(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set what Slurm sets for a task; a task sees no other engine."""

    def step(rank: int, nodes: str, per_node: str, node: str, local: int, **more: str) -> None:
        total = sum(
            int(part.partition("(")[0]) * int(part.partition("x")[2].rstrip(")") or 1)
            for part in per_node.split(",")
        )
        environment = {
            "SLURM_PROCID": str(rank),
            "SLURM_LOCALID": str(local),
            "SLURMD_NODENAME": node,
            "SLURM_STEP_NUM_TASKS": str(total),
            "SLURM_STEP_NODELIST": nodes,
            "SLURM_STEP_TASKS_PER_NODE": per_node,
        } | more
        for name in ("CUDA_VISIBLE_DEVICES", "SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)

    return step


def slurm(**jobs: int) -> dict[str, Any]:
    from strategy_engines import resolvers

    return resolvers.slurm({"port": "2222"}, {"worker": 1} | jobs)


def test_a_slurm_task_without_gpus_knows_all_workers_and_its_index(slurm_step: Any) -> None:
    slurm_step(rank=3, nodes="n[1-2]", per_node="2(x2)", node="n2", local=1)
    assert slurm() == {
        "cluster": {"worker": ["n1:2222", "n1:2223", "n2:2222", "n2:2223"]},
        "task": {"type": "worker", "index": 3},
        "environment": {},
    }


def test_slurm_and_the_resolver_number_hosts_differently(slurm_step: Any) -> None:
    """`n10` sorts before `n2`: every task still finds the address that is its own."""
    tasks = {}
    for rank, node in enumerate(NODES):
        slurm_step(rank=rank, nodes="n[1-11]", per_node="1(x11)", node=node, local=0)
        answer = slurm()
        index = answer["task"]["index"]
        tasks[node] = answer["cluster"]["worker"][index]
    assert tasks == {node: f"{node}:2222" for node in NODES}


def test_slurm_shares_a_nodes_gpus_among_its_tasks(slurm_step: Any) -> None:
    slurm_step(rank=1, nodes="n1", per_node="2", node="n1", local=1, CUDA_VISIBLE_DEVICES="0,1,2,3")
    assert slurm()["environment"] == {"CUDA_VISIBLE_DEVICES": "2,3"}
    slurm_step(
        rank=1,
        nodes="n1",
        per_node="2",
        node="n1",
        local=1,
        CUDA_VISIBLE_DEVICES="0,1",
        SLURM_GPUS_PER_TASK="2",
    )
    assert slurm()["environment"] == {}


def test_slurm_tasks_are_shared_among_chief_servers_and_workers(slurm_step: Any) -> None:
    slurm_step(rank=0, nodes="n[1-4]", per_node="1(x4)", node="n1", local=0)
    answer = slurm(chief=1, ps=1)
    assert {job: len(addresses) for job, addresses in answer["cluster"].items()} == {
        "chief": 1,
        "ps": 1,
        "worker": 2,
    }
    assert answer["task"] == {"type": "chief", "index": 0}


def pod(name: str, ip: str, phase: str = "Running") -> Any:
    return SimpleNamespace(
        metadata=SimpleNamespace(name=name),
        status=SimpleNamespace(phase=phase, pod_ip=ip, host_ip="192.0.2.1"),
    )


class Pods:
    """A Kubernetes client that has other pods each time it is asked."""

    def __init__(self, *states: list[Any]) -> None:
        self.states = list(states)
        self.asked: list[tuple[str, str]] = []

    def list_namespaced_pod(self, namespace: str, label_selector: str) -> Any:
        self.asked.append((namespace, label_selector))
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return SimpleNamespace(items=state)


OPTIONS = {"worker": "app=lab", "namespace": "train", "port": "2222"}


def test_kubernetes_waits_until_all_pods_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from strategy_engines import resolvers

    monkeypatch.setattr(resolvers, "_POLL_S", 0.0)
    both = [pod("lab-1", "10.1.0.2"), pod("lab-0", "10.1.0.1")]
    pods = Pods(both[1:], [both[1], pod("lab-1", "", "Pending")], both)
    answer = resolvers.kubernetes(OPTIONS, {"worker": 2}, 60.0, pods)
    assert answer == {"cluster": {"worker": ["10.1.0.1:2222", "10.1.0.2:2222"]}}
    assert pods.asked == [("train", "app=lab")] * 3


def test_kubernetes_says_what_is_missing() -> None:
    from strategy_engines import resolvers

    with pytest.raises(LabError, match=r"2 worker expected; 1 worker.*--workers"):
        resolvers.kubernetes(OPTIONS, {"worker": 2}, 0.0, Pods([pod("lab-0", "10.1.0.1")]))
    with pytest.raises(LabError, match="no label selector for worker"):
        resolvers.kubernetes({}, {"worker": 2}, 0.0, Pods([]))
    with pytest.raises(LabError, match="no option 'where'"):
        resolvers.kubernetes({"where": "here"}, {"worker": 2}, 0.0, Pods([]))


class Instances:
    """A Compute Engine client with one instance group."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    def instanceGroups(self) -> Any:  # noqa: N802 - the client's name
        return self

    def instances(self) -> Any:
        return self

    def listInstances(self, **_query: Any) -> Any:  # noqa: N802
        items = [{"instance": f"zone/{number}"} for number in range(len(self.addresses))]
        return SimpleNamespace(execute=lambda: {"items": items})

    def listInstances_next(self, **_query: Any) -> None:  # noqa: N802
        return None

    def get(self, instance: str, **_query: Any) -> Any:
        instance_document = {"networkInterfaces": [{"networkIP": self.addresses[int(instance)]}]}
        return SimpleNamespace(execute=lambda: instance_document)


def test_compute_engine_names_the_instances_of_a_group() -> None:
    from strategy_engines import resolvers

    options = {"project": "p", "zone": "z", "group": "g", "port": "2222"}
    answer = resolvers.gce(options, {"worker": 2}, 0.0, Instances("10.0.0.2", "10.0.0.1"))
    assert answer == {"cluster": {"worker": ["10.0.0.1:2222", "10.0.0.2:2222"]}}
    with pytest.raises(LabError, match="lacks zone, group"):
        resolvers.gce({"project": "p"}, {"worker": 2}, 0.0, Instances())


@pytest.mark.parametrize(("engine", "package"), [("kubernetes", "kubernetes"), ("gce", "google")])
def test_a_missing_client_is_named(engine: str, package: str) -> None:
    from strategy_engines import resolvers

    options = {"kubernetes": OPTIONS, "gce": {"project": "p", "zone": "z", "group": "g"}}[engine]
    request = {"engine": engine, "options": options, "jobs": {"worker": 1}, "timeout_s": 0}
    assert f"pip install {package}" in resolvers.answer(request)["advice"]
