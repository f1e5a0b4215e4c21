"""From an engine's description of a cluster to a place among a run's processes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from strategy_core.cluster.discovery import resolve as discovery
from strategy_core.cluster.discovery.resolve import (
    Engine,
    RequestedCluster,
    own_index,
    resolve,
)
from strategy_core.cluster.discovery.task_address import OwnTask
from strategy_profiles.errors import SpecError
from strategy_profiles.spec.run_spec import RunSpec

TWO = {"worker": ["a:1", "b:2"]}


def tf_config(cluster: Mapping[str, Any], role: str = "worker", index: int = 0) -> dict[str, str]:
    document = {"cluster": cluster, "task": {"type": role, "index": index}}
    return {"TF_CONFIG": json.dumps(document)}


def tasks(own_task: OwnTask) -> list[tuple[str, int, str]]:
    return [(task.role, task.index, task.address) for task in own_task.cluster.tasks]


def test_tf_config_names_all_workers_and_the_own_index() -> None:
    own_task = resolve("auto", environment=tf_config(TWO, index=1))
    assert tasks(own_task) == [("worker", 0, "a:1"), ("worker", 1, "b:2")]
    assert (own_task.process, own_task.engine) == (1, "TF_CONFIG")
    expected = {"strategy": "multi-worker-mirrored", "workers": 2, "parameter_servers": 0}
    assert own_task.spec_changes("mirrored") == expected


def test_a_chief_without_servers_is_worker_0() -> None:
    cluster = {"worker": ["b:1", "c:1"], "chief": ["a:1"]}
    assert tasks(resolve("TF_CONFIG", environment=tf_config(cluster, "chief"))) == [
        ("worker", 0, "a:1"),
        ("worker", 1, "b:1"),
        ("worker", 2, "c:1"),
    ]
    processes = [
        resolve("auto", environment=tf_config(cluster, "worker", i)).process for i in (0, 1)
    ]
    assert processes == [1, 2]


def test_with_servers_the_coordinator_comes_first_and_servers_last() -> None:
    cluster = {"ps": ["p:1"], "worker": ["b:1", "c:1"], "chief": ["a:1"]}
    own_task = resolve("auto", environment=tf_config(cluster, "ps", 0))
    assert [task.title for task in own_task.cluster.tasks] == [
        "coordinator",
        "worker 0",
        "worker 1",
        "parameter server 0",
    ]
    assert own_task.process == 3
    expected = {"strategy": "parameter-server", "workers": 2, "parameter_servers": 1}
    assert own_task.spec_changes("mirrored") == expected


def test_a_sparse_cluster_is_numbered_from_0() -> None:
    numbered = {"worker": {"1": "b:2", "0": "a:1"}}
    assert tasks(resolve("auto", environment=tf_config(numbered))) == [
        ("worker", 0, "a:1"),
        ("worker", 1, "b:2"),
    ]
    with pytest.raises(SpecError, match="numbered from 0"):
        resolve("auto", environment=tf_config({"worker": {"0": "a:1", "2": "b:2"}}))


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "neither TF_CONFIG nor SLURM_PROCID"),
        ({"TF_CONFIG": "{"}, "TF_CONFIG is not JSON"),
        ({"TF_CONFIG": "[]"}, '"cluster"'),
        (tf_config({"worker": ["a"]}), "host:port"),
        (tf_config({"worker": ["a:x"]}), "host:port"),
        (tf_config({"worker": ["a:70000"]}), "host:port"),
        (tf_config({"worker": ["a:1", "a:1"]}), "have the address a:1"),
        (tf_config({"worker": "a:1"}), "list of host:port"),
        (tf_config({"worker": ["a:1"]}, index=1), "no task worker 1; it has 1 worker"),
        (tf_config({"worker": ["a:1"], "evaluator": ["b:1"]}), "evaluator"),
        (tf_config({"worker": ["a:1"], "ps": ["b:1"]}), "coordinator"),
        (tf_config({"chief": ["a:1", "b:1"]}, "chief"), "2 chiefs; at most one"),
        (
            {"TF_CONFIG": json.dumps({"cluster": TWO, "task": {"type": "worker"}})},
            "task index None in TF_CONFIG",
        ),
    ],
)
def test_an_invalid_cluster_is_explained(environment: dict[str, str], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        resolve("auto", environment=environment)


def test_addresses_on_the_command_line_are_in_the_order_of_processes() -> None:
    own_task = resolve("a:1,b:2, c:3", index=2)
    assert [title for title, *_ in tasks(own_task)] == ["worker"] * 3
    assert own_task.process == 2
    with_server = resolve("a:1,b:2,c:3", RequestedCluster(parameter_servers=1), index=0)
    assert [task.title for task in with_server.cluster.tasks] == [
        "coordinator",
        "worker 0",
        "parameter server 0",
    ]
    for wrong in (-1, 3):
        with pytest.raises(SpecError, match=f"--index {wrong} is outside 0 to 2"):
            resolve("a:1,b:2,c:3", index=wrong)
    with pytest.raises(SpecError, match=r"--cluster 'somewhere' is not a cluster. Give auto"):
        resolve("somewhere")


def test_a_file_is_a_document_like_tf_config(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps({"cluster": TWO}))
    assert resolve(str(file), index=1).process == 1
    file.write_text(json.dumps({"cluster": TWO, "task": {"type": "worker", "index": 1}}))
    assert resolve(str(file)).process == 1
    assert resolve(str(file), index=0).process == 0
    with pytest.raises(SpecError, match="does not exist"):
        resolve(str(tmp_path / "none.json"))


def test_a_host_finds_its_own_address() -> None:
    addresses = ["10.0.0.1:1", "10.0.0.2:1", "[fd00::3]:1"]
    assert own_index(addresses, {"10.0.0.2", "127.0.0.1"}) == 1
    assert own_index(addresses, {"fd00::3"}) == 2
    with pytest.raises(SpecError, match="none is"):
        own_index(addresses, {"10.9.9.9"})
    with pytest.raises(SpecError, match="2 are"):
        own_index(["10.0.0.1:1", "10.0.0.1:2"], {"10.0.0.1"})
    assert own_index(["127.0.0.1:7", "192.0.2.1:7"]) == 0


def test_an_engine_of_a_package_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(options: str, wanted: RequestedCluster) -> Mapping[str, Any]:
        assert (options, wanted.workers) == ("port=7", 2)
        return {"cluster": TWO, "task": {"type": "worker", "index": 1}, "job": "17"}

    class Entry:
        def load(self) -> Engine:
            return Engine("The Swarm", ask)

    monkeypatch.setattr(discovery, "registered", lambda _group: {"swarm": Entry()})
    own_task = resolve("swarm:port=7", RequestedCluster(workers=2), environment={})
    assert (own_task.process, own_task.engine, own_task.job) == (1, "The Swarm", "17")
    assert resolve("swarm:port=7", RequestedCluster(workers=2), index=0).process == 0
    with pytest.raises(SpecError, match="Give auto, TF_CONFIG, swarm, tpu, a JSON file"):
        resolve("slurm")


def test_all_processes_of_a_run_have_the_same_id_and_no_other_run_has() -> None:
    spec = RunSpec()
    environments = [tf_config(TWO, index=index) for index in (0, 1)]
    first, second = (
        resolve("auto", environment=own_environment) for own_environment in environments
    )
    assert first.run_id(spec) == second.run_id(spec)
    assert first.run_id(spec) != first.run_id(spec.with_changes({"steps": 7}))
    again = resolve("auto", environment=environments[0] | {"STRATEGY_LAB_JOB": "second"})
    assert first.run_id(spec) != again.run_id(spec)
    other = resolve("a:1,c:2", index=0)
    assert first.run_id(spec) != other.run_id(spec)


@pytest.mark.tf
@pytest.mark.parametrize(
    ("cluster", "role", "index"),
    [
        ({"worker": ["a:1", "b:2"]}, "worker", 1),
        ({"chief": ["c:3"], "worker": ["a:1"], "ps": ["p:4"]}, "ps", 0),
        ({"worker": {"0": "a:1", "1": "b:2"}}, "worker", 0),
    ],
)
def test_tf_config_is_understood_as_tensorflow_does(
    cluster: dict[str, Any], role: str, index: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tensorflow as tf

    document = {"cluster": cluster, "task": {"type": role, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(document))
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    own_task = resolve("auto")
    assert (own_task.task.role, own_task.task.index) == (resolver.task_type, resolver.task_id)
    own = json.loads(own_task.cluster.tf_config(own_task.process))
    spec = resolver.cluster_spec()
    assert own["cluster"] == {job: spec.job_tasks(job) for job in spec.jobs}
    assert own["task"] == {"type": resolver.task_type, "index": resolver.task_id}
