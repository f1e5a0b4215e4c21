"""A pod of two host processes: one program, one input pipeline per host."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from strategy_core import tpu
from tests.processes import children_of
from tests.timeouts import MAX_WAIT_S

pytestmark = [pytest.mark.tf, pytest.mark.run]

DEVICES = [f"/job:worker/replica:0/task:{t}/device:CPU:{k}" for t in (0, 1) for k in (0, 1)]


def test_training_on_two_hosts():
    ended = subprocess.run(
        [sys.executable, "-m", "tests.plugins.tpu.pod_program"],
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    seen = json.loads(ended.stdout.splitlines()[-1])
    # Both hosts read 0, 1 for their two replicas in the first step and 2, 3 in the second.
    assert seen["totals"] == [2.0, 10.0]
    assert seen["weights"] == [1.0 + 2.0 + 10.0] * 4
    assert seen["devices"] == DEVICES
    assert seen["ops"] == DEVICES
    assert (seen["hosts"], seen["replicas_per_host"]) == (2, 2)
    assert seen["pipelines"] == [0, 1]
    assert seen["crossings"] == 2, "a sum passes each way once, however many replicas a host has"
    assert seen["exchanged"] == [[row, 10 + row, 20 + row, 30 + row] for row in range(4)]
    assert seen["exchange_crossings"] == 2


def test_hosts_end_with_the_pod():
    with tpu.Pod(num_hosts=1, cores_per_host=2) as pod:
        children = children_of(command="pod_host")
        assert len(children) == 1
        assert pod.master.startswith("grpc://127.0.0.1:")
    assert not children[0].is_running()


def test_a_pod_without_hosts_is_refused():
    with pytest.raises(ValueError, match="0 hosts with 4 cores make no pod"):
        tpu.Pod(num_hosts=0, cores_per_host=4)
