"""Queries TensorFlow's cluster resolvers in a separate process, because they import TensorFlow.

    echo '{"engine": "slurm", "options": {}, "jobs": {"worker": 2}}' |
      python -m strategy_engines.resolvers
    {"cluster": {"worker": ["n1:8888", "n2:8888"]}, "task": {"type": "worker", "index": 0}, ...}

Assumptions of a resolver that do not hold for a run are corrected here through its own arguments.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from strategy_profiles.errors import LabError
from strategy_profiles.user_input.text import quoted

Answer = dict[str, Any]
_POLL_S = 1.0
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


def slurm(options: Mapping[str, str], jobs: Mapping[str, int]) -> Answer:
    """The cluster of a Slurm step. Raises LabError.

    The resolver numbers tasks by the sorted names of their hosts, Slurm by its node list (`n2`
    before `n10`). So this task is found by its host and its number on that host.
    """
    _take_options(options, {"port"})
    port = int(options.get("port", 8888))
    tasks_per_node = _slurm_number("SLURM_STEP_TASKS_PER_NODE")
    wanted = dict(jobs)
    num_tasks = int(os.environ.get("SLURM_STEP_NUM_TASKS", "0"))
    wanted["worker"] = num_tasks - sum(count for job, count in jobs.items() if job != "worker")
    gpus: dict[str, Any] = _gpus_of_slurm(tasks_per_node)

    def resolver() -> Any:
        return tf.distribute.cluster_resolver.SlurmClusterResolver(
            jobs=wanted, port_base=port, **gpus
        )

    named = resolver()
    cluster = named.cluster_spec().as_dict()
    ordered = [address for job in sorted(cluster) for address in cluster[job]]
    own = f"{os.environ.get('SLURMD_NODENAME')}:{port + int(os.environ.get('SLURM_LOCALID', '0'))}"
    if own in ordered:
        os.environ["SLURM_PROCID"] = str(ordered.index(own))
        named = resolver()
        named.cluster_spec()
    role, index = named.get_task_info()
    names = ("CUDA_VISIBLE_DEVICES",) if gpus.get("auto_set_gpu", True) else ()
    environment = {name: os.environ[name] for name in names if name in os.environ}
    return {
        "cluster": cluster,
        "task": {"type": role, "index": index},
        "environment": environment,
    }


def kubernetes(
    options: Mapping[str, str], jobs: Mapping[str, int], timeout_s: float, api: Any = None
) -> Answer:
    """The cluster of the pods with given labels, once all of them run. Raises LabError.

    The resolver uses the address of a pod's node and searches all namespaces. It therefore gets a
    client that returns the pod's own address, from its own namespace. It does not know which pod
    this is.
    """
    _take_options(options, {"port", "namespace", *jobs})
    missing = [role for role in jobs if role not in options]
    if missing:
        raise LabError(
            f"--cluster kubernetes has no label selector for {', '.join(missing)}",
            advice="Write it as in kubernetes:worker=app=lab,port=2222",
        )
    client = _PodsOfNamespace(api or _kubernetes_api(), _namespace(options))
    resolver = tf.distribute.cluster_resolver.KubernetesClusterResolver(
        {role: [options[role]] for role in jobs},
        tf_server_port=int(options.get("port", 8470)),
        override_client=client,
    )
    return {"cluster": _complete(resolver, jobs, timeout_s)}


def gce(
    options: Mapping[str, str], jobs: Mapping[str, int], timeout_s: float, service: Any = None
) -> Answer:
    """The cluster of a managed instance group, once all its instances exist. Raises LabError."""
    _take_options(options, {"project", "zone", "group", "port"})
    missing = [name for name in ("project", "zone", "group") if name not in options]
    if missing or set(jobs) != {"worker"}:
        raise LabError(
            f"--cluster gce lacks {', '.join(missing)}"
            if missing
            else f"--cluster gce finds workers only, not {', '.join(jobs)}",
            advice="Write gce:project=p,zone=z,group=g,port=2222",
        )
    if service is None and importlib.util.find_spec("googleapiclient") is None:
        raise _no_client("Compute Engine", "google-api-python-client oauth2client")
    resolver = tf.distribute.cluster_resolver.GCEClusterResolver(
        options["project"],
        options["zone"],
        options["group"],
        int(options.get("port", 8470)),
        service=service,
    )
    return {"cluster": _complete(resolver, jobs, timeout_s)}


def _complete(resolver: Any, jobs: Mapping[str, int], timeout_s: float) -> dict[str, list[str]]:
    """Ask `resolver` until its cluster has exactly the number of tasks in `jobs`, by role.

    Returns the addresses by role. Raises LabError after `timeout_s` seconds, with the last state.
    """
    until = time.monotonic() + timeout_s
    while True:
        try:
            cluster: dict[str, list[str]] = resolver.cluster_spec().as_dict()
            sizes = {role: len(cluster.get(role, [])) for role in jobs}
            if sizes == dict(jobs):
                return cluster
            state = ", ".join(f"{count} {role}" for role, count in sizes.items())
        except RuntimeError as error:  # a pod that does not run yet
            state = str(error)
        if time.monotonic() >= until:
            wanted = ", ".join(f"{count} {role}" for role, count in jobs.items())
            raise LabError(
                f"The cluster was not complete within {timeout_s:.0f} s: {wanted} expected; "
                f"{state}",
                advice="Check --workers, the number that is expected",
            )
        time.sleep(_POLL_S)


class _PodsOfNamespace:
    """A Kubernetes client for TensorFlow's resolver that returns the pods' own addresses."""

    def __init__(self, api: Any, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    def list_pod_for_all_namespaces(self, label_selector: str) -> Any:
        listed = self._api.list_namespaced_pod(self._namespace, label_selector=label_selector)
        return SimpleNamespace(
            items=[
                SimpleNamespace(
                    metadata=pod.metadata,
                    status=SimpleNamespace(phase=pod.status.phase, host_ip=pod.status.pod_ip),
                )
                for pod in listed.items
            ]
        )


def _kubernetes_api() -> Any:
    if importlib.util.find_spec("kubernetes") is None:
        raise _no_client("Kubernetes", "kubernetes")
    from kubernetes import client, config  # type: ignore[import-not-found, unused-ignore]

    try:
        config.load_incluster_config()
    except config.ConfigException:
        config.load_kube_config()
    return client.CoreV1Api()


def _namespace(options: Mapping[str, str]) -> str:
    if "namespace" in options:
        return options["namespace"]
    try:
        return _NAMESPACE_FILE.read_text().strip()
    except OSError:
        return "default"


def _gpus_of_slurm(tasks_per_node: int) -> dict[str, Any]:
    """Arguments about GPUs. The resolver divides a node's GPUs among its tasks if there are enough.

    It fails without GPUs, and if Slurm has already assigned each task its own.
    """
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    num_gpus = len(visible.split(",")) if visible else len(tf.config.list_physical_devices("GPU"))
    is_bound = any(name in os.environ for name in ("SLURM_GPUS_PER_TASK", "SLURM_TRES_PER_TASK"))
    if num_gpus >= tasks_per_node and not is_bound:
        return {"gpus_per_node": num_gpus}
    return {"gpus_per_node": tasks_per_node, "gpus_per_task": 1, "auto_set_gpu": False}


def _slurm_number(name: str) -> int:
    """The largest number in a text such as `3(x2),2`; raises LabError if the variable is not
    set."""
    text = os.environ.get(name)
    if not text:
        raise LabError(
            f"{name} is not set, so this is not a Slurm step", advice="Start it with srun"
        )
    try:
        return max(int(part.partition("(")[0]) for part in text.split(","))
    except ValueError:
        raise LabError(f"{name}={text} is not a number of tasks") from None


def _take_options(options: Mapping[str, str], known: set[str]) -> None:
    unknown = sorted(set(options) - known)
    if unknown:
        raise LabError(
            f"This engine has no option {quoted(unknown[0])}",
            advice=f"Its options: {', '.join(sorted(known))}",
        )
    if not options.get("port", "1").isdigit():
        raise LabError(f"port={quoted(options['port'])} is not a number")


def _no_client(engine: str, packages: str) -> LabError:
    return LabError(
        f"The Python client of {engine} is not installed, which TensorFlow's resolver needs",
        advice=f"Run pip install {packages}, or set TF_CONFIG, which needs no client",
    )


def answer(request: Mapping[str, Any]) -> Answer:
    """The answer to one request; an error that the user can fix is returned as `{"error": ...}`."""
    options, jobs = request["options"], request["jobs"]
    timeout_s = float(request.get("timeout_s", 60))
    try:
        if request["engine"] == "slurm":
            return slurm(options, jobs)
        engine = {"kubernetes": kubernetes, "gce": gce}[request["engine"]]
        return engine(options, jobs, timeout_s)
    except LabError as error:
        return {"error": error.problem, "advice": error.advice}
    except (RuntimeError, ValueError) as error:
        return {"error": f"TensorFlow's resolver failed: {error}", "advice": ""}


if __name__ == "__main__":
    print(json.dumps(answer(json.load(sys.stdin))))
