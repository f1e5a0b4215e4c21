"""What engines are asked, and whose answer it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from strategy_core.cluster.discovery.resolve import RequestedCluster, resolve
from strategy_engines import ask as asking
from strategy_profiles.errors import LabError, SpecError
from tests.strategy_core.cluster.test_resolve import TWO, tasks


def test_an_engine_is_asked_for_what_the_run_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    requests: list[tuple[Mapping[str, Any], float]] = []

    def ask(request: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
        requests.append((request, timeout_s))
        return {"cluster": TWO, "task": {"type": "worker", "index": 1}}

    monkeypatch.setattr(asking, "ask_engine", ask)
    wanted = RequestedCluster(workers=2, parameter_servers=0, timeout_s=5)
    own_task = resolve("kubernetes:worker=app=lab,port=2222", wanted, environment={})
    options = {"worker": "app=lab", "port": "2222"}
    request = {"engine": "kubernetes", "options": options, "jobs": {"worker": 2}}
    assert requests == [(request, 5)]
    assert (own_task.process, own_task.engine) == (1, "Kubernetes")
    assert resolve("gce:project=p", wanted, index=0, environment={}).process == 0
    for name, value in {"SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    assert resolve("auto", wanted, environment={"SLURM_PROCID": "1"}).job == "slurm 7.0"
    with pytest.raises(SpecError, match="the option 'port' without a value"):
        resolve("slurm:port", wanted)


@pytest.mark.run
def test_the_resolver_of_slurm_is_asked_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slurm = {
        "SLURM_PROCID": "1",
        "SLURM_LOCALID": "0",
        "SLURMD_NODENAME": "n2",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_NODELIST": "n[1-2]",
        "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    }
    monkeypatch.delenv("TF_CONFIG", raising=False)
    for name, value in slurm.items():
        monkeypatch.setenv(name, value)
    own_task = resolve("auto")
    assert tasks(own_task) == [("worker", 0, "n1:8888"), ("worker", 1, "n2:8888")]
    assert own_task.process == 1
    monkeypatch.delenv("SLURM_STEP_TASKS_PER_NODE")
    with pytest.raises(LabError, match="Start it with srun"):
        resolve("slurm")
