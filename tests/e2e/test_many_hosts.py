"""Processes of one run, each started by itself as on hosts of their own; here on one."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from tests.e2e.following import events, wait_until
from tests.event_records import run_records
from tests.processes import is_living
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
LAB = (sys.executable, "-m", "strategy_core")
QUICK = ("--workload", "digits-mlp", "--global-batch-size", "64")
# The machine may be busy: what is tested here is not how long that takes.
PATIENT = ("--start-timeout", "180", "--set", "cluster.heartbeat_timeout_s=60")

ENDLESS = ("--steps", "100000", "--inject", "delay:replica=0,ms=50")
"""A run that its test ends. It sleeps in its steps: at full speed it would keep every core busy."""


class Host:
    """`strategy-lab worker` as one host of a cluster would start it."""

    def __init__(self, addresses: Sequence[str], index: int, run: Path, *flags: str) -> None:
        task = {"type": "worker", "index": index}
        config = {"cluster": {"worker": list(addresses)}, "task": task}
        self.process = subprocess.Popen(
            [*LAB, "worker", *QUICK, *PATIENT, *flags, "-o", str(run)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TF_CONFIG": json.dumps(config)},
        )

    def end(self) -> tuple[int, str]:
        """Its exit code, once it has ended, and what it said on stderr."""
        _, said = self.process.communicate(timeout=MAX_WAIT_S)
        return self.process.returncode, said


def cluster(size: int = 2) -> list[str]:
    """Addresses that are free, at ports that no outgoing connection is given."""
    free: set[str] = set()
    while len(free) < size:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            free.add(f"127.0.0.1:{port}")
    return sorted(free)


@contextlib.contextmanager
def hosts(addresses: Sequence[str], *runs: Path, flags: Sequence[str] = ()) -> Iterator[list[Host]]:
    started = [Host(addresses, index, run, *flags) for index, run in enumerate(runs)]
    try:
        yield started
    finally:
        for host in started:
            host.process.kill()
            host.process.communicate()


def wait_for_steps(run: Path, both: Sequence[Host]) -> None:
    """Wait until some steps are done; a host that ends before that says why."""
    wait_until(
        lambda: len(events(run, "step")) > 5 or any(h.process.poll() is not None for h in both),
        MAX_WAIT_S,
    )
    assert all(host.process.poll() is None for host in both), [host.end() for host in both]


def steps_of(run: Path, worker: int) -> list[dict[str, Any]]:
    return [record for record in events(run, "step") if record["worker"] == worker]


def test_two_hosts_and_a_shared_folder_are_one_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with hosts(addresses := cluster(), run, run, flags=("--steps", "20")) as both:
        ends = [host.end() for host in both]
    assert [code for code, _ in ends] == [0, 0], ends
    profile = strategy_profiles.load(run)
    assert profile.status.state == "finished"
    (segment,) = profile.summary()["segments"]
    assert (segment["strategy"], segment["num_replicas"]) == ("multi-worker-mirrored", 2)
    assert segment["steps"]["count"] == 20
    assert [len(steps_of(run, worker)) for worker in (0, 1)] == [20, 20]
    launched = run_records(profile.path, "launched")
    started = sorted((record["worker"], record["address"]) for record in launched)
    assert started == [*enumerate(addresses)]
    warned = [
        note["message"] for note in run_records(profile.path, "note") if note["level"] == "warning"
    ]
    assert len([text for text in warned if "does not authenticate clients" in text]) == 2
    losses = [[step["loss"] for step in steps_of(run, worker)] for worker in (0, 1)]
    assert losses[0] == losses[1]


@pytest.mark.long
def test_a_signal_to_one_host_stops_all_at_the_same_step_and_folders_are_collected(
    tmp_path: Path,
) -> None:
    runs = [tmp_path / f"host-{index}" for index in (0, 1)]
    with hosts(cluster(), *runs, flags=ENDLESS) as both:
        wait_for_steps(runs[1], both)
        both[1].process.send_signal(signal.SIGTERM)
        ends = [host.end() for host in both]
    assert [code for code, _ in ends] == [0, 0], ends
    for run in runs:
        assert strategy_profiles.load(run).status.state == "stopped"
    counts = [len(steps_of(run, worker)) for worker, run in enumerate(runs)]
    assert counts[0] == counts[1]
    done = subprocess.run(
        [*LAB, "collect", *map(str, runs), "-o", str(tmp_path / "all")],
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    whole = strategy_profiles.load(tmp_path / "all")
    assert whole.status.state == "stopped"
    assert len(whole.summary()["segments"][0]["replicas"]) == 2


@pytest.mark.long
def test_all_make_a_change_that_is_left_in_the_folder_at_the_same_step(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with hosts(cluster(), run, run, flags=ENDLESS) as both:
        wait_for_steps(run, both)
        changed = change(run, "global_batch_size=96", "inject=delay:worker=1,replica=0,ms=60")
        refused = change(run, "learning_rate=0.5")
        stopped = change(run, "--stop")
        ends = [host.end() for host in both]
    assert [code for code, _ in ends] == [0, 0], ends
    assert (changed.returncode, stopped.returncode) == (0, 0), (changed.stderr, stopped.stderr)
    assert (refused.returncode, "a change of learning_rate" in refused.stderr) == (1, True)
    checkpoint = str(run / "worker-0-0" / "checkpoint")
    assert f"--resume {checkpoint}" in refused.stderr
    assert Path(checkpoint).is_dir()
    profile = strategy_profiles.load(run)
    assert profile.status.state == "stopped"
    assert [s.global_batch_size for s in profile.segments] == [64, 96]
    answers = [(r["command"], r["status"]) for r in run_records(profile.path, "answer")]
    assert answers == [("reconfigure", "applied"), ("reconfigure", "rejected"), ("stop", "applied")]
    losses = [[(r["segment"], r["loss"]) for r in steps_of(run, worker)] for worker in (0, 1)]
    assert losses[0] == losses[1]
    assert {segment for segment, _ in losses[0]} == {0, 1}


def change(run: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAB, "change", str(run), *arguments, "--within", str(MAX_WAIT_S)],
        capture_output=True,
        text=True,
        timeout=2 * MAX_WAIT_S,
        check=False,
    )


def test_a_killed_host_is_named_by_the_others_folder_and_by_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with hosts(cluster(), run, run, flags=ENDLESS) as both:
        wait_for_steps(run, both)
        (lost,) = [record for record in events(run, "launched") if record["worker"] == 1]
        os.kill(lost["pid"], signal.SIGKILL)
        ends = [host.end() for host in both]
    assert [code for code, _ in ends] == [1, 1], ends
    status = strategy_profiles.load(run).status
    assert status.state == "failed"
    assert "Worker 1" in (status.message or "")
    assert "SIGKILL" in (status.message or "")
    assert not is_living(lost["pid"])


@pytest.mark.long
def test_servers_on_other_hosts_leave_when_the_coordinator_has(tmp_path: Path) -> None:
    run, addresses = tmp_path / "run", cluster(3)
    flags = ("--cluster", ",".join(addresses), "--parameter-servers", "1", "--steps", "20")
    started = [Host(addresses, i, run, *flags, "--index", str(i)) for i in range(3)]
    try:
        ends = [host.end() for host in started]
    finally:
        for host in started:
            host.process.kill()
    assert [code for code, _ in ends] == [0, 0, 0], ends
    profile = strategy_profiles.load(run)
    assert profile.status.state == "finished"
    assert profile.segments[0].strategy == "parameter-server"
    assert (
        sorted(record["verdict"] for record in run_records(profile.path, "exited"))
        == ["finished"] * 3
    )


def test_a_task_that_never_comes_is_named_in_time(tmp_path: Path) -> None:
    run = tmp_path / "run"
    flags = ("--steps", "20", "--start-timeout", "6")
    with hosts(addresses := cluster(), run, flags=flags) as (alone,):
        code, said = alone.end()
    assert code == 1
    expected = f"waited 6 s for worker 1 ({addresses[1]}) without success"
    assert expected in said
    status = strategy_profiles.load(run).status
    assert status.state == "failed"
    assert expected in (status.message or "")


def test_what_cannot_start_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with socket.socket() as taken:
        taken.bind(("", 0))
        taken.listen()
        port = taken.getsockname()[1]
        addresses = [f"127.0.0.1:{port}", "127.0.0.1:9"]
        with hosts(addresses, run) as (host,):
            code, said = host.end()
    assert code == 2
    assert f"cannot listen on port {port} of this host" in said
    assert not run.exists()
    with hosts(addresses, run, flags=("--workers", "3")) as (host,):
        code, said = host.end()
    assert (code, "workers=2" in said) == (2, True), said
    with hosts(addresses, run, flags=("--reconfigure", "5:workers=3")) as (host,):
        code, said = host.end()
    assert (code, "--resume" in said) == (2, True), said
    no_run = change(tmp_path, "global_batch_size=96")
    assert (no_run.returncode, "is not a run folder" in no_run.stderr) == (2, True)
