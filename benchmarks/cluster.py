"""What the lab adds to a local cluster: to its start, and to its steps.

    python -m benchmarks.cluster [--quick]

*start*: from nothing to every worker's first step, the lab's launcher without a spare worker
against as many plain TensorFlow programs that train the same model, in turns.

*recording*: blocks of bare steps and of recorded ones (marks, the leader's captures within the
default budget, bytes of links, the common clock) in turns, in the same two workers with one model,
by the wall and by the processor time of both workers and their helpers. *marks* is the least that
records every step: bare steps with the timestamps in their graph, read and thrown away.

*fit*: Keras `fit` on two workers, which agrees on commands in a collective of its own: now and
then, as the lab does, and at every step, against never.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.measuring.paired import median_ratio, total_ratio
from benchmarks.measuring.record import record_ratio
from benchmarks.measuring.waiting import compare_starts
from strategy_core.cluster.network.ports import REUSE_PORT, reserved_ports
from strategy_core.cluster.tasks import cluster_of
from strategy_core.launcher.launcher import Launcher
from strategy_profiles.run.events import StepDone
from strategy_profiles.run.tail import Tail
from strategy_profiles.spec.run_spec import RunSpec

WORKERS = 4
MODELS = ((512, 10, 300), (65_536, 2, 60))
"""Hidden units of digits-mlp (38,000 and 4.9 million parameters), steps in a block, and blocks.

Blocks are short, because a busy machine drifts within seconds.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--only", choices=("start", "recording", "fit"))
    args = parser.parse_args()
    if args.only in (None, "start"):
        turns = 2 if args.quick else 5
        compare_starts(f"{WORKERS} workers", _plain_start_s, _lab_start_s, turns)
    if args.only in (None, "recording"):
        for hidden, steps, rounds in MODELS:
            measure_recording(hidden, rounds=rounds // 4 if args.quick else rounds, steps=steps)
    if args.only in (None, "fit"):
        measure_fit(rounds=8 if args.quick else 24)


def _plain_start_s() -> float:
    began = time.monotonic()
    _spoken(WORKERS, "plain")
    return time.monotonic() - began


def _lab_start_s(launcher: Launcher, folder: Path) -> float:
    spec = RunSpec(
        strategy="multi-worker-mirrored",
        devices="cpu:1",
        workers=WORKERS,
        workload="digits-mlp",
        global_batch_size=1024,
        steps=1_000_000,
    )
    began = time.monotonic()
    handle = launcher.launch(spec, folder)
    tail = Tail(folder)
    seen: set[int] = set()
    while len(seen) < WORKERS:
        every = tail.read()
        seen |= {record.worker or 0 for record in every if isinstance(record.event, StepDone)}
        if handle.is_over:
            raise RuntimeError(f"the run ended: {handle.message}")
        time.sleep(0.005)
    took_s = time.monotonic() - began
    handle.kill()
    handle.wait(30)
    return took_s


def measure_recording(hidden: int, rounds: int, steps: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        measured = _spoken(2, "recording", folder, str(hidden), str(rounds), str(steps))
    walls, cpus = _of_all(measured)
    step_ms, cpu_ms = (sum(side["bare"]) / rounds / steps * 1e3 for side in (walls, cpus))
    print(
        f"recording, 2 workers, {75 * hidden / 1e6:.2g} M parameters, bare step {step_ms:.1f} ms, "
        f"{cpu_ms:.1f} ms of processor time"
    )
    for name, limit in (("recorded", ", at most 1.02x allowed"), ("marks", " alone")):
        wall, cpu = (median_ratio(side[name], side["bare"]) for side in (walls, cpus))
        every = total_ratio(cpus[name], cpus["bare"])
        model = f"2 workers, {75 * hidden / 1e6:.2g} M parameters, {name}"
        record_ratio(model, wall, rounds)
        record_ratio(f"{model}, processor time", cpu, rounds)
        print(f"    {name:8} {wall}{limit}; processor time {cpu}, of all {every}", flush=True)


def measure_fit(rounds: int, steps: int = 100) -> None:
    walls, cpus = _of_all(_spoken(2, "fit", str(rounds), str(steps)))
    step_ms, cpu_ms = (sum(side["bare"]) / rounds / steps * 1e3 for side in (walls, cpus))
    print(f"fit, 2 workers, bare step {step_ms:.1f} ms, {cpu_ms:.1f} ms of processor time")
    for name in ("now and then", "at every step"):
        wall, cpu = (median_ratio(side[name], side["bare"]) for side in (walls, cpus))
        print(f"    agreeing {name:13} {wall}; processor time {cpu}", flush=True)


def _of_all(measured: list[Any]) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """By contestant the wall and the processor seconds of its blocks: the leader's wall, and what
    all workers used. What the helpers used beside the training is the recording's."""
    leader = measured[0]["blocks"]
    walls = {name: [wall for wall, _ in blocks] for name, blocks in leader.items()}
    cpus = {
        name: [
            sum(cpu for _, cpu in at_once)
            for at_once in zip(*(worker["blocks"][name] for worker in measured), strict=True)
        ]
        for name in leader
    }
    if "recorded" in cpus:
        helper_s = sum(worker["helper_s"] for worker in measured) / len(cpus["recorded"])
        cpus["recorded"] = [cpu + helper_s for cpu in cpus["recorded"]]
    return walls, cpus


def _spoken(num_workers: int, *arguments: str) -> list[Any]:
    """What each worker of a cluster of `benchmarks.programs.cluster_task` finds."""
    with reserved_ports(num_workers) as ports:
        spec = RunSpec(
            strategy="multi-worker-mirrored",
            devices="cpu:1",
            workers=num_workers,
            global_batch_size=64 * num_workers,
        )
        cluster = cluster_of(spec, [f"127.0.0.1:{port}" for port in ports])
        tasks = [
            _start_task(arguments, cluster.tf_config(process)) for process in range(num_workers)
        ]
        answers = [json.loads(task.stdout.readline() or "null") for task in tasks if task.stdout]
    for task in tasks:
        task.communicate()  # all are done: none holds a peer up by leaving
    if None in answers:
        raise RuntimeError("a worker of the benchmark failed: see what it printed above")
    return answers


def _start_task(arguments: Sequence[str], tf_config: str) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        **REUSE_PORT,
        "TF_CONFIG": tf_config,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "KERAS_BACKEND": "tensorflow",
    }
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.programs.cluster_task", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )


if __name__ == "__main__":
    main()
