"""Workers that a user starts one by one, each under `strategy-lab trace`, are one run."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.processes.import_path import with_own_code
from strategy_core.tracing.settings import STRICT_VARIABLE
from strategy_profiles.analysis.input_collectives import input_collectives
from tests.foreign.both_ways import PROGRAMS
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.tf, pytest.mark.run]


def test_two_workers_that_were_traced_into_one_folder_are_one_run(tmp_path: Path) -> None:
    servers = [socket.create_server(("localhost", 0)) for _ in range(2)]
    addresses = [f"localhost:{each.getsockname()[1]}" for each in servers]
    for each in servers:
        each.close()
    program = [str(PROGRAMS / "one_worker.py"), "7"]
    command = [sys.executable, "-P", "-m", "strategy_core", "trace", "-o", "run", *program]
    started = []
    for index in (1, 0):
        task = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = with_own_code(os.environ)
        environment |= {STRICT_VARIABLE: "1", "TF_CONFIG": json.dumps(task)}
        started.append(
            subprocess.Popen(
                command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
            )
        )
    said = [each.communicate(timeout=MAX_WAIT_S)[1] for each in started]
    assert [each.returncode for each in started] == [0, 0], said
    profile = strategy_profiles.load(tmp_path / "run")
    assert profile.status.state == "finished"
    (segment,) = profile.summary()["segments"]
    assert (segment["num_replicas"], segment["steps"]["count"]) == (2, 7)
    assert {each.worker: len(each.steps) for each in profile.sources} == {0: 7, 1: 7}
    # The dataset ends, so TensorFlow asks with each batch whether a worker has one left.
    assert input_collectives(profile, 0) == 1.0
