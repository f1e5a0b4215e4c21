"""Asks the resolver of an engine, in a process of its own, because it imports TensorFlow."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

from strategy_core.cluster.discovery.resolve import Engine, RequestedCluster
from strategy_core.processes.spawner import worker_environment
from strategy_profiles.errors import LabError, SpecError
from strategy_profiles.user_input.text import quoted

_EXTRA_S = 60.0
"""Extra time for the child's imports, beside the wait for a complete cluster."""


def cluster_of(kind: str, options: str, wanted: RequestedCluster) -> Mapping[str, Any]:
    """The tasks of the engine `kind`; raises LabError."""
    answer = ask_engine(request_of(kind, options, wanted), wanted.timeout_s)
    return {**answer, "job": _slurm_job()} if kind == "slurm" else answer


SLURM = Engine("Slurm", partial(cluster_of, "slurm"))
KUBERNETES = Engine("Kubernetes", partial(cluster_of, "kubernetes"))
GCE = Engine("Compute Engine", partial(cluster_of, "gce"))


def _slurm_job() -> str:
    names = ("JOB_ID", "STEP_ID", "RESTART_COUNT")
    parts = (os.environ.get(f"SLURM_{name}", "") for name in names)
    return f"slurm {'.'.join(filter(None, parts))}"


def request_of(kind: str, text: str, wanted: RequestedCluster) -> dict[str, Any]:
    """The child's request: the engine, its options, and the number of tasks of each role."""
    options = {}
    for part in filter(None, text.split(",")):
        key, sign, value = part.partition("=")
        if not sign:
            raise SpecError(
                f"--cluster {kind} has the option {quoted(part)} without a value",
                advice="Write KEY=VALUE",
            )
        options[key.strip()] = value.strip()
    return {"engine": kind, "options": options, "jobs": wanted.jobs}


def ask_engine(request: Mapping[str, Any], timeout_s: float) -> Mapping[str, Any]:
    """Query TensorFlow's resolver in a child process; raises LabError."""
    command = [sys.executable, "-P", "-m", "strategy_engines.resolvers"]
    question = json.dumps({**request, "timeout_s": timeout_s})
    try:
        done = subprocess.run(
            command,
            input=question,
            capture_output=True,
            text=True,
            timeout=timeout_s + _EXTRA_S,
            check=False,
            env=worker_environment(os.environ),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"TensorFlow's resolver could not be started: {error}") from None
    try:
        answer = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise LabError(f"TensorFlow's resolver failed: {said[-1]}") from None
    if "error" in answer:
        raise LabError(answer["error"], advice=answer["advice"])
    content: Mapping[str, Any] = answer
    return content
