"""Finds the cluster of this process in the environment, a file or an engine. Without TensorFlow.

    resolve("auto")                                    TF_CONFIG, else Slurm
    resolve("TF_CONFIG")                               the convention of all engines
    resolve("slurm:port=2222")                         an engine that a package adds
    resolve("cluster.json", index=1)                   a document like TF_CONFIG
    resolve("10.0.0.1:2222,10.0.0.2:2222", index=1)

For engines whose resolver does not identify the task of this process, it is found by this host's
addresses.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from strategy_core.cluster.discovery.task_address import (
    OwnTask,
    at_process,
    own_task_from_addresses,
    own_task_from_roles,
    split_address,
)
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.registered import registered
from strategy_profiles.user_input.files import read_text
from strategy_profiles.user_input.text import TextError, parse_json, quoted


def own_index(addresses: Sequence[str], own: Iterable[str] | None = None) -> int:
    """Return the index of this host's address among `addresses` (`host:port`).

    `own` are this host's IP addresses; by default those of its interfaces. Raises SpecError unless
    exactly one address is this host's.
    """
    own_ips = set(own_addresses() if own is None else own)
    at = [index for index, address in enumerate(addresses) if own_ips & _ip_addresses_of(address)]
    if len(at) == 1:
        return at[0]
    what = "none is" if not at else f"{len(at)} are"
    raise SpecError(
        "Exactly one of the cluster's addresses must be this host's; of "
        f"{', '.join(addresses)} {what}",
        advice="Name this task with --index N",
        field="index",
    )


def own_addresses() -> set[str]:
    """The IP addresses of this host's interfaces."""
    interfaces = psutil.net_if_addrs().values()
    return {each.address.partition("%")[0] for every in interfaces for each in every}


def _ip_addresses_of(address: str) -> set[str]:
    """The IP addresses of the host of `host:port`; empty if its name cannot be resolved (yet)."""
    host, port = split_address(address)
    try:
        return {str(info[4][0]) for info in socket.getaddrinfo(host, port)}
    except OSError:
        return set()


JOB = "STRATEGY_LAB_JOB"
"""Distinguishes two runs of an engine with the same settings; any text, equal on all hosts."""


@dataclass(frozen=True, slots=True)
class RequestedCluster:
    """The cluster that a run needs, for engines that only list the tasks running now."""

    workers: int = 1
    parameter_servers: int = 0
    timeout_s: float = 60.0
    """Time to wait until all tasks are running."""

    @property
    def jobs(self) -> dict[str, int]:
        """Number of tasks of each role."""
        servers = {"chief": 1, "ps": self.parameter_servers} if self.parameter_servers else {}
        return {"worker": self.workers} | servers


@dataclass(frozen=True, slots=True)
class Engine:
    """What lists the tasks of a cluster, by entry points of the group `strategy_lab.clusters`."""

    title: str
    ask: Callable[[str, RequestedCluster], Mapping[str, Any]]
    """Takes the options behind `--cluster NAME:`; raises LabError. Returns the addresses of each
    role as `cluster`; if they are known, this process's `task`, variables that it needs as
    `environment`, and a text that distinguishes runs as `job`."""


def forms() -> str:
    """What `--cluster` takes."""
    named = ", ".join(["auto", "TF_CONFIG", *sorted(registered("clusters"))])
    return f"{named}, tpu, a JSON file, or host:port,host:port"


def resolve(
    text: str,
    wanted: RequestedCluster | None = None,
    *,
    index: int | None = None,
    environment: Mapping[str, str] | None = None,
) -> OwnTask:
    """Return this process's task in the cluster that `text` names; raises LabError.

    `index` is its number among the run's processes. It overrides the engine's, and is required if
    neither the engine nor this host's addresses determine it.
    """
    wanted = wanted or RequestedCluster()
    environ = os.environ if environment is None else environment
    name, _, options = text.partition(":")
    kind = name.strip().lower()
    if kind == "auto":
        return resolve(_engine(environ), wanted, index=index, environment=environ)
    if kind == "tf_config":
        return _of_tf_config(environ, index)
    if entry := registered("clusters").get(kind):
        engine: Engine = entry.load()
        return _of_engine(engine.title, engine.ask(options, wanted), index, environ)
    if text.endswith(".json"):
        return _of_file(Path(text), index)
    if ":" in text:
        addresses = [part.strip() for part in text.split(",")]
        process = own_index(addresses) if index is None else index
        return own_task_from_addresses(addresses, wanted.parameter_servers, process, "--cluster")
    raise SpecError(
        f"--cluster {quoted(text)} is not a cluster", advice=f"Give {forms()}", field="cluster"
    )


def own_task_in_cluster() -> OwnTask | None:
    """This process's task in the cluster of TF_CONFIG; None without one of several tasks."""
    if not os.environ.get("TF_CONFIG"):
        return None
    try:
        own_task = resolve("TF_CONFIG")
    except LabError:
        return None
    return own_task if len(own_task.cluster) > 1 else None


def _engine(environ: Mapping[str, str]) -> str:
    """The engine found in the environment; raises SpecError."""
    if environ.get("TF_CONFIG", "").strip():
        return "TF_CONFIG"
    if "SLURM_PROCID" in environ:
        return "slurm"
    raise SpecError(
        "The environment names no cluster: neither TF_CONFIG nor SLURM_PROCID is set",
        advice="Set TF_CONFIG, start this with srun, or give --cluster host:port,host:port "
        "--index N",
        field="cluster",
    )


def _of_tf_config(environ: Mapping[str, str], index: int | None) -> OwnTask:
    text = environ.get("TF_CONFIG", "").strip()
    if not text:
        raise SpecError("TF_CONFIG is not set", field="cluster")
    return _of_document(text, "TF_CONFIG", index, environ.get(JOB, ""))


def _of_file(path: Path, index: int | None) -> OwnTask:
    return _of_document(read_text(path, "The cluster file"), str(path), index, "")


def _of_document(text: str, source: str, index: int | None, job: str) -> OwnTask:
    """Return the own task from a document like TF_CONFIG, in which `task` is optional here."""
    try:
        document = parse_json(text)
    except TextError as error:
        raise SpecError(f"{source} {error}: {quoted(text)}", field="cluster") from None
    cluster = document.get("cluster") if isinstance(document, dict) else None
    if not isinstance(cluster, dict) or not cluster:
        raise SpecError(
            f"{source} holds no cluster: {quoted(text, 120)}",
            advice='Write {"cluster": {"worker": ["host:port", ...]}, "task": {...}}',
            field="cluster",
        )
    task = document.get("task")
    if isinstance(task, dict) and index is None:
        number = _whole(task.get("index"), source)
        return own_task_from_roles(cluster, str(task.get("type")), number, source, job=job)
    return _found_among(cluster, source, index, job=job)


def _found_among(roles: Mapping[str, Any], source: str, index: int | None, **more: Any) -> OwnTask:
    """Return the task of process `index` or, without it, of the one with this host's address."""
    first = next((role for role in ("chief", "worker") if roles.get(role)), "worker")
    own_task = own_task_from_roles(roles, first, 0, source, **more)
    if index is None:
        index = own_index([task.address for task in own_task.cluster.tasks])
    return at_process(own_task, index)


def _of_engine(
    title: str, answer: Mapping[str, Any], index: int | None, environ: Mapping[str, str]
) -> OwnTask:
    job = answer.get("job") or environ.get(JOB, "")
    more = {"job": job, "environment": answer.get("environment") or {}}
    task = answer.get("task")
    if task and index is None:
        return own_task_from_roles(answer["cluster"], task["type"], task["index"], title, **more)
    return _found_among(answer["cluster"], title, index, **more)


def _whole(value: object, source: str) -> int:
    try:
        return int(str(value))
    except ValueError:
        raise SpecError(
            f"The task index {quoted(value)} in {source} is not a whole number"
        ) from None
