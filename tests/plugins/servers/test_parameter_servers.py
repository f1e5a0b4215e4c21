"""Parameter servers as real processes: like one device, and what the loss of each process costs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_profiles.analysis.parameter_server import ParameterServing, parameter_serving
from strategy_profiles.spec.run_spec import RunSpec
from tests.event_records import run_records
from tests.processes import is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run

NUM_WHOLE, NUM_LARGE, NUM_SERVED, NUM_STEPS = 5, 7, 10, 15
FAST_MS, SLOW_MS = 20.0, 200.0
"""Delays of two workers: far more apart than what a busy machine takes from one of them alone.

The faster one sleeps, too: at full speed it would keep every core busy until its test ends.
"""
COMMON = {"workload": "digits-mlp", "global_batch_size": 32, "steps": NUM_STEPS}
SMALLER = {"step": NUM_LARGE, "changes": {"global_batch_size": 16}}
NUM_BYTES = 4 * (64 * 128 + 128 + 128 * 10 + 10)
"""Of the weights of digits-mlp."""
SERVED: dict[str, Any] = {"strategy": "parameter-server", "workers": 1, "parameter_servers": 1}


def launch(launcher: Launcher, folder: Path, **fields: Any) -> RunHandle:
    return launcher.launch(RunSpec.model_validate(fields), folder)


def ended(handle: RunHandle) -> RunHandle:
    assert handle.wait(MAX_WAIT_S), "the run did not end"
    return handle


def serving(folder: Path) -> ParameterServing:
    profile = strategy_profiles.load(folder)
    return parameter_serving(profile, profile.segments[0])


def until(handle: RunHandle, is_so: Callable[[], bool], what: str) -> None:
    """Wait for it, while the run goes on."""
    wait_until(lambda: is_so() or handle.is_over)
    assert not handle.is_over, f"not {what}: {handle.message}\n{handle.failure_detail}"


@pytest.fixture(scope="module")
def changed_run(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five steps on whole weights, five on weights cut over two servers, with a smaller batch from
    the third of them on, and five on one device."""
    folder = tmp_path_factory.mktemp("served") / "changed"
    cut = {"parameter_servers": 2, "parameter_server.partitioner": "fixed"}
    back = {"strategy": "default", "parameter_servers": 0, "parameter_server.partitioner": "none"}
    changes = [
        {"step": NUM_WHOLE, "changes": cut},
        SMALLER,
        {"step": NUM_SERVED, "changes": back},
    ]
    handle = ended(launch(launcher, folder, **COMMON, **SERVED, reconfigure=changes))
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"
    return folder


def test_one_worker_trains_like_one_device_and_its_state_is_carried_over(
    launcher: Launcher, changed_run: Path, tmp_path: Path
) -> None:
    alone_fields = {**COMMON, "strategy": "default", "devices": "cpu:1", "reconfigure": [SMALLER]}
    ended(launch(launcher, tmp_path / "alone", **alone_fields))
    served = strategy_profiles.load(changed_run)
    alone = strategy_profiles.load(tmp_path / "alone")
    losses = served.table("steps")["loss"].to_numpy()
    assert len(losses) == NUM_STEPS
    np.testing.assert_allclose(losses, alone.table("steps")["loss"].to_numpy(), rtol=1e-5)
    assert [item.strategy for item in served.segments] == [*["parameter-server"] * 3, "default"]
    moves = [None, "fresh-worker", "same-worker", "fresh-worker"]
    assert [item.moved for item in served.segments] == moves
    for carried in served.segments[1:]:
        assert carried.state_checksum_before == carried.state_checksum_after
    assert served.status.state == "finished"


def test_weights_are_cut_into_parts_on_all_servers(changed_run: Path) -> None:
    profile = strategy_profiles.load(changed_run)
    found = parameter_serving(profile, profile.segments[1])
    kernel = [item for item in found.variables if item.name.endswith("dense/kernel")]
    assert [(item.part, item.num_parts, item.shape) for item in kernel] == [
        (0, 2, "[32, 128]"),
        (1, 2, "[32, 128]"),
    ]
    assert len({item.process for item in kernel}) == 2
    assert sum(item.pull_bytes or 0 for item in found.servers) == NUM_BYTES
    assert [item.weight_bytes for item in found.servers] == [NUM_BYTES // 2] * 2


def test_what_is_recorded_of_a_served_segment(changed_run: Path) -> None:
    found = serving(changed_run)
    (worker,), (server,) = found.workers, found.servers
    assert found.num_steps == worker.num_steps == NUM_WHOLE
    assert worker.wall_ms is not None
    assert sum(worker.phases_ms.values()) == pytest.approx(worker.wall_ms, rel=1e-6)
    assert worker.phases_ms["delay"] == 0
    assert (server.process, server.num_weights) == (2, 4)
    assert server.weight_bytes == server.pull_bytes == server.push_bytes == NUM_BYTES
    assert server.optimizer_bytes >= 2 * NUM_BYTES  # Adam keeps two numbers for each
    assert found.moments is not None
    assert found.moments.in_flight.max() == 1
    rows = strategy_profiles.load(changed_run).table("placement").to_pylist()
    devices = {row["device"] for row in rows if row["kind"] == "variable" and not row["segment"]}
    assert devices == {"/job:ps/replica:0/task:0/device:CPU:0"}


@pytest.fixture(scope="module")
def lost_run(
    launcher: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, RunHandle, list[int]]:
    """Two workers: the slow one is lost and comes back; then the parameter server is lost."""
    folder = tmp_path_factory.mktemp("served") / "lost"
    fields = {**COMMON, **SERVED, "workers": 2, "steps": 1_000_000}
    delays = [{"worker": i, "replica": 0, "ms": ms} for i, ms in enumerate((FAST_MS, SLOW_MS))]
    handle = launch(launcher, folder, **fields, inject=delays)
    until(handle, lambda: len(both(folder)) == 2, "two workers at work")
    pids = {record["worker"]: record["pid"] for record in launches(folder)}
    os.kill(pids[2], signal.SIGKILL)

    def is_back() -> bool:
        return any(item.back_s is not None for item in serving(folder).absences)

    until(handle, is_back, "the lost worker back at work")
    every = [record["pid"] for record in launches(folder)]
    os.kill(pids[3], signal.SIGKILL)
    return folder, ended(handle), every


def both(folder: Path) -> list[int]:
    if not strategy_profiles.load(folder).segments:
        return []
    return [item.worker for item in serving(folder).workers if item.num_steps > 5]


def launches(folder: Path) -> list[dict[str, Any]]:
    return run_records(folder, "launched")


@pytest.mark.long
def test_training_goes_on_without_a_lost_worker_until_it_is_back(
    lost_run: tuple[Path, RunHandle, list[int]],
) -> None:
    folder, _, _ = lost_run
    found = serving(folder)
    (absence,) = found.absences
    assert absence.worker == 2
    assert absence.message.startswith("Worker 1: Something outside the lab killed the worker")
    assert absence.lost_s is not None
    assert absence.back_s is not None
    assert found.finished_s is not None
    others = found.finished_s[1]
    assert ((others > absence.lost_s) & (others < absence.back_s)).any()
    assert (folder / "worker-2-1").is_dir()
    fast, slow = found.workers
    assert fast.phases_ms["delay"] == pytest.approx(FAST_MS)
    assert slow.phases_ms["delay"] == pytest.approx(SLOW_MS)
    assert slow.num_steps < fast.num_steps


def test_a_lost_parameter_server_ends_the_run_and_is_named(
    lost_run: tuple[Path, RunHandle, list[int]],
) -> None:
    folder, handle, pids = lost_run
    assert handle.status == "failed"
    assert handle.message is not None
    assert handle.message.startswith("Parameter server 0: ")
    assert strategy_profiles.load(folder).status.state == "failed"
    exits = {(r["worker"], r["generation"]): r for r in run_records(folder, "exited")}
    assert exits[3, 0]["follows"] is None
    assert {exits[key]["follows"] for key in ((0, 0), (1, 0), (2, 1))} == {3}
    assert not any(is_living(pid) for pid in pids)
