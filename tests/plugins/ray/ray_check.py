"""A run whose processes Ray places, on this host: `make test-ray`, where Ray is installed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

import strategy_profiles
from tests.e2e.following import events, wait_until
from tests.event_records import run_records

LAB = (sys.executable, "-m", "strategy_core")
FLAGS = ("--cluster", "ray", "--workers", "2", "--workload", "digits-mlp")
TIMEOUT_S = 240


def start(run: Path, steps: int) -> subprocess.Popen[str]:
    command = [*LAB, "worker", *FLAGS, "--global-batch-size", "64", "--steps", str(steps)]
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    return subprocess.Popen(
        [*command, "-o", str(run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


def test_ray_places_the_processes_of_a_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with start(run, 30) as process:
        said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    profile = strategy_profiles.load(run)
    assert profile.status.state == "finished"
    (segment,) = profile.summary()["segments"]
    assert (segment["strategy"], segment["num_replicas"]) == ("multi-worker-mirrored", 2)
    assert segment["steps"]["count"] == 30
    launched = [record["worker"] for record in run_records(profile.path, "launched")]
    assert sorted(launched) == [0, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_ctrl_c_stops_the_run_and_leaves_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with start(run, 1_000_000) as process:
        wait_until(lambda: len(events(run, "step")) > 5 or process.poll() is not None, TIMEOUT_S)
        begun = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, said
    assert strategy_profiles.load(run).status.state == "stopped"
    _, left = psutil.wait_procs(begun, 30)
    assert not left
