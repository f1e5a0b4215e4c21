"""What the lab adds to a local cluster of parameter servers: to its start, and to its steps.

    python -m benchmarks.parameter_server [--quick]

*start*: from nothing to the first step (a closure's result on the coordinator) of 2 workers and a
parameter server, the lab's launcher without a spare worker against plain TensorFlow programs that
train the same model, in turns.

*recording*: blocks of bare steps (closures as in TensorFlow's own tutorial, each loss read, as the
bare steps of `benchmarks.cluster` read theirs) and of recorded ones in turns, by the same
coordinator over the same servers with one model, by the wall and by the processor time of all four
processes. Beside them *own*, the lab's closures read by the same plain loop: what is left to
*recorded* is the recording; and *unread*, bare closures of which nothing is read: what reading is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benchmarks.measuring.paired import median_ratio
from benchmarks.measuring.record import record_ratio
from benchmarks.measuring.waiting import compare_starts, is_kind, wait_for
from strategy_core.cluster.membership import REPORT_LOST_PEERS
from strategy_core.cluster.network.ports import REUSE_PORT, reserved_ports
from strategy_core.cluster.tasks import cluster_of
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.spec.run_spec import RunSpec

SPEC = RunSpec(
    strategy="parameter-server",
    devices="cpu:1",
    workers=2,
    parameter_servers=1,
    workload="digits-mlp",
    global_batch_size=256,
    steps=1_000_000,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", choices=("start", "recording"))
    args = parser.parse_args()
    if args.only != "recording":
        turns = 2 if args.quick else 5
        compare_starts("2 workers and a parameter server", _plain_start_s, _lab_start_s, turns)
    if args.only != "start":
        measure_recording(rounds=6 if args.quick else 16, steps=100)


def _plain_start_s() -> float:
    began = time.monotonic()
    with ExitStack() as held:
        _printed(*_start_tasks(held, "plain"))
        return time.monotonic() - began


def _lab_start_s(launcher: Launcher, folder: Path) -> float:
    began = time.monotonic()
    handle = launcher.launch(SPEC, folder)
    wait_for(handle, is_kind("step"))
    took_s = time.monotonic() - began
    handle.kill()
    handle.wait(30)
    return took_s


def measure_recording(rounds: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        measured = _printed(*_start_tasks(held, "recording", folder, str(rounds), str(steps)))
    bare_wall, bare_cpu = zip(*measured["bare"], strict=True)
    step_ms, cpu_ms = (sum(side) / rounds / steps * 1e3 for side in (bare_wall, bare_cpu))
    print(
        f"recording, 2 workers, 1 parameter server: bare step {step_ms:.1f} ms, {cpu_ms:.1f} ms of "
        "processor time"
    )
    for name, limit in (("recorded", ", at most 1.02x allowed"), ("own", ""), ("unread", "")):
        wall, cpu = zip(*measured[name], strict=True)
        ratios = median_ratio(wall, bare_wall), median_ratio(cpu, bare_cpu)
        record_ratio(name, ratios[0], rounds)
        print(f"    {name:8} {ratios[0]}{limit}; processor time {ratios[1]}", flush=True)


Task = subprocess.Popen[str]


def _start_tasks(held: ExitStack, what: str, *arguments: str) -> tuple[Task, list[Task]]:
    """Start the coordinator, which does `what`, and the servers; all end with `held`."""
    ports = held.enter_context(reserved_ports(4))
    cluster = cluster_of(SPEC, [f"127.0.0.1:{port}" for port in ports])
    configs = [cluster.tf_config(process) for process in range(len(cluster))]
    servers = [_start(held, config, "serve", *arguments[:1]) for config in configs[1:]]
    pids = ",".join(str(server.pid) for server in servers)
    return _start(held, configs[0], what, *arguments, pids), servers


def _start(held: ExitStack, tf_config: str, *arguments: str) -> Task:
    environment = {
        **os.environ,
        **REUSE_PORT,
        **REPORT_LOST_PEERS,
        "TF_CONFIG": tf_config,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": "tensorflow",
    }
    task = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.programs.parameter_server_task", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    held.callback(task.communicate)
    held.callback(task.kill)
    return task


def _printed(coordinator: Task, servers: list[Task]) -> Any:
    """What the coordinator finds. Whether its steps are recorded just now goes to the servers."""
    for text in coordinator.stdout or ():
        said = json.loads(text)
        if "found" in said:
            return said["found"]
        for server in servers:
            assert server.stdin is not None
            server.stdin.write(text)
            server.stdin.flush()
    raise RuntimeError("the coordinator of the benchmark failed: see what it printed above")


if __name__ == "__main__":
    main()
