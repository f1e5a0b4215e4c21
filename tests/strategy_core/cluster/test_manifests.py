"""The manifests of docs/clusters: what an engine would make of them is a run that can start."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from strategy_core.cli import worker
from strategy_core.cluster.discovery.resolve import resolve
from strategy_core.cluster.discovery.task_address import OwnTask
from strategy_core.launcher.multi_host_run import check_multi_host
from strategy_profiles.spec.run_spec import RunSpec
from tests.timeouts import MAX_WAIT_S

CLUSTERS = Path(__file__).parents[3] / "docs" / "clusters"


def task_and_spec(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[OwnTask, RunSpec]:
    """What `strategy-lab worker ...` would do in that environment."""
    assert command[:2] == ["strategy-lab", "worker"]
    parser = argparse.ArgumentParser()
    worker.add_arguments(parser)
    args = parser.parse_args(command[2:])
    own_task = resolve(args.cluster, index=args.index, environment=environment)
    spec = worker.request_of(args).spec(own_task.spec_changes(""))
    check_multi_host(spec)
    return own_task, spec


def are_one_run(parts: Sequence[tuple[OwnTask, RunSpec]]) -> bool:
    ids = {own_task.run_id(spec) for own_task, spec in parts}
    numbers = [own_task.process for own_task, _ in parts]
    return len(ids) == 1 and numbers == list(range(len(parts[0][0].cluster)))


def filled_in(text: str, values: Mapping[str, str]) -> str:
    """`$(NAME)` as Kubernetes fills it in."""
    return re.sub(r"\$\((\w+)\)", lambda match: values[match[1]], text)


def test_the_kubernetes_manifest_starts_one_run() -> None:
    every = list(yaml.safe_load_all((CLUSTERS / "kubernetes.yaml").read_text()))
    kinds = {document["kind"]: document for document in every}
    job, service = kinds["Job"]["spec"], kinds["Service"]
    template = job["template"]
    labels, pod = template["metadata"]["labels"], template["spec"]
    (container,) = pod["containers"]
    assert job["completionMode"] == "Indexed"
    assert job["completions"] == job["parallelism"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == labels
    assert kinds["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    parts = []
    for index in range(job["completions"]):
        environment: dict[str, str] = {}
        for variable in container["env"]:  # one may use those before it
            given = {"INDEX": str(index), "STRATEGY_LAB_JOB": "3f2c"}.get(variable["name"])
            value = given if "valueFrom" in variable else filled_in(variable["value"], environment)
            assert value is not None
            environment[variable["name"]] = value
        arguments = [filled_in(argument, environment) for argument in container["args"]]
        own_task, spec = task_and_spec(arguments, environment)
        assert own_task.job == "3f2c"
        # The name that the pod has by its service.
        name = f"{kinds['Job']['metadata']['name']}-{index}.{pod['subdomain']}"
        ports = {port["port"] for port in service["spec"]["ports"]}
        assert own_task.task.address == f"{name}:{ports.pop()}"
        parts.append((own_task, spec))
    assert pod["subdomain"] == service["metadata"]["name"]
    assert are_one_run(parts)
    claim = pod["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert claim == kinds["PersistentVolumeClaim"]["metadata"]["name"]


def test_the_compose_file_starts_one_run() -> None:
    document = yaml.safe_load((CLUSTERS / "compose.yaml").read_text())
    services = document["services"]
    names = [name for name in services if name.startswith("worker-")]
    parts = [
        task_and_spec(services[name]["command"], services[name]["environment"]) for name in names
    ]
    assert are_one_run(parts)
    for name, (own_task, _) in zip(names, parts, strict=True):
        assert own_task.task.address == f"{name}:2222"
        assert services[name]["networks"] == ["between-workers"]
    assert document["networks"]["between-workers"] == {"internal": True}
    assert services["page"]["ports"] == ["127.0.0.1:8501:8501"]


def run_script(
    name: str, arguments: Sequence[str], tmp_path: Path, tools: Mapping[str, str], **more: str
) -> str:
    """What a script prints, with stand-ins for the tools that it calls."""
    for tool, text in tools.items():
        (tmp_path / tool).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / tool).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", **more}
    done = subprocess.run(
        ["bash", str(CLUSTERS / name), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


PRINT = 'printf "%s\\0" "$@"; printf "\\n"'


def test_the_slurm_script_starts_one_run(tmp_path: Path) -> None:
    """The resolver itself, asked with what Slurm sets, is tested in test_resolvers."""
    environment = {"SLURM_JOB_ID": "17", "SLURM_SUBMIT_DIR": "/home/me"}
    printed = run_script("slurm.sbatch", ["--steps", "7"], tmp_path, {"srun": PRINT}, **environment)
    (line,) = printed.splitlines()
    flag, *command = line.split("\0")[:-1]
    assert flag == "--kill-on-bad-exit=0"
    at = command.index("--cluster")
    assert command[at + 1] == "slurm:port=2222"
    slurm = [*command[: at + 1], "a:2222,b:2222", "--index", "0", *command[at + 2 :]]
    own_task, spec = task_and_spec(slurm, {})
    assert (len(own_task.cluster), spec.steps, spec.cluster.start_timeout_s) == (2, 7, 300)
    assert command[command.index("-o") + 1] == "/home/me/runs/slurm-17"
    header = (CLUSTERS / "slurm.sbatch").read_text()
    assert re.search(r"^#SBATCH --nodes=2$", header, re.MULTILINE)


def test_the_ssh_script_starts_one_run(tmp_path: Path) -> None:
    stand_in = 'host=$2; shift 2; printf "%s\\t%s\\n" "$host" "$*"'
    hosts = {"HOSTS": "10.0.0.1:2222 h2:2223", "RUN": "runs/my run"}
    options = '{"width": 8}'
    arguments = ["--steps", "7", "--set", f"workload_options={options}"]
    printed = run_script("ssh.sh", arguments, tmp_path, {"ssh": stand_in}, **hosts)
    lines = sorted(line.split("\t") for line in printed.splitlines())
    assert [host for host, _ in lines] == ["10.0.0.1", "h2"]
    parts = [task_and_spec(shlex.split(command), {}) for _, command in lines]
    assert are_one_run(parts)
    assert [own_task.task.address for own_task, _ in parts] == ["10.0.0.1:2222", "h2:2223"]
    assert parts[0][1].workload_options == json.loads(options)
    assert all("runs/my run" in shlex.split(command) for _, command in lines)


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml", "slurm.sbatch", "ssh.sh"])
def test_every_manifest_says_how_it_is_used(name: str) -> None:
    text = (CLUSTERS / name).read_text()
    assert re.search(rf"docs/clusters/{re.escape(name)}", text)


def all_values(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [inner for item in value.values() for inner in all_values(item)]
    if isinstance(value, list):
        return [inner for item in value for inner in all_values(item)]
    return [value]


def test_no_manifest_opens_a_port_to_the_world() -> None:
    for name in ("compose.yaml", "kubernetes.yaml"):
        for document in yaml.safe_load_all((CLUSTERS / name).read_text()):
            assert not {"NodePort", "LoadBalancer", "host"} & set(map(str, all_values(document)))
