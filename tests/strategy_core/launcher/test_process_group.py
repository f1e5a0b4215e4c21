"""Real clusters on this machine: they train like one device, stop, and tell who was lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_profiles.errors import SpecError
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.status import derive_status
from strategy_profiles.spec.run_spec import RunSpec, parse_spec
from tests.event_records import run_records
from tests.processes import is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = [pytest.mark.run, pytest.mark.tf]

ENDLESS = {"steps": 100_000, "inject": [{"kind": "delay", "replica": 0, "ms": 30}]}
"""A run that its test ends. It sleeps in its steps: at full speed it would keep every core busy."""


@pytest.fixture
def launch(launcher: Launcher, tmp_path: Path) -> Iterator[Callable[..., RunHandle]]:
    handles = []

    def launch(workers: int, **fields: Any) -> RunHandle:
        common = {
            "strategy": "multi-worker-mirrored",
            "devices": "cpu:1",
            "workload": "digits-mlp",
            "global_batch_size": 24,
            **ENDLESS,
        }
        spec = RunSpec.model_validate({**common, "workers": workers, **fields})
        handles.append(launcher.launch(spec, tmp_path / f"run-{len(handles)}"))
        return handles[-1]

    yield launch
    for handle in handles:
        pids = handle.pids
        handle.kill()
        assert handle.wait(MAX_WAIT_S)
        assert not any(map(is_living, pids))


def wait_for_step(handle: RunHandle, step: int) -> None:
    wait_until(lambda: (handle.step or 0) >= step or handle.is_over)
    assert not handle.is_over, f"{handle.message}\n{handle.failure_detail}"


def process_of(handle: RunHandle, worker: int) -> int:
    records = run_records(handle.folder)
    launched = [record for record in records if record["kind"] == "launched"]
    return int(next(r["pid"] for r in launched if r["worker"] == worker))


def steps_of(handle: RunHandle, segment: int) -> list[int]:
    steps = strategy_profiles.load(handle.folder).table("steps").to_pylist()
    return [step["step"] for step in steps if step["segment"] == segment]


@pytest.mark.long(keep=1)
@pytest.mark.usefixtures("logical_cpus")
@pytest.mark.parametrize(("loop", "workers"), [("custom", 3), ("fit", 2)])
def test_workers_train_like_one_device_and_hand_their_state_over(
    launch: Callable[..., RunHandle], loop: str, workers: int
) -> None:
    """The lab's own loop goes on in the same processes with another batch, then in one process."""
    from tests.strategy_core.in_memory import opened, run_steps

    batch = {"global_batch_size": 48} if loop == "custom" else {}
    to_one_process = {"step": 10, "changes": {"strategy": "default", "workers": 1}}
    in_place = [{"step": 5, "changes": batch}] if batch else []
    changes = [*in_place, to_one_process]
    handle = launch(workers, steps=12, inject=[], loop=loop, reconfigure=changes)
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "finished", f"{handle.message}\n{handle.failure_detail}"

    training, recorder = opened(strategy="default", workload="digits-mlp", global_batch_size=24)
    run_steps(training, 5)
    if batch:
        training.reconfigure(training.spec.with_changes(batch))
    run_steps(training, 5)
    profile = strategy_profiles.load(handle.folder)
    losses = profile.table("steps")["loss"].to_pylist()
    np.testing.assert_allclose(losses[:10], recorder.losses, rtol=1e-5)
    from strategy_core.training import checkpoint

    left = checkpoint.load(handle.folder / "worker-0-0" / "checkpoint")
    for actual, expected in zip(left.state, training.take_state(), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-6)
    segments = profile.segments
    moves = [(segment.num_replicas, segment.moved) for segment in segments]
    same = [(workers, "same-worker")] * len(in_place)
    assert moves == [(workers, None), *same, (1, "fresh-worker")]
    for segment in segments[1:]:
        assert segment.state_checksum_before == segment.state_checksum_after
    assert len(losses) == 12


def test_all_workers_stop_at_the_same_step(launch: Callable[..., RunHandle]) -> None:
    handle = launch(2)
    wait_for_step(handle, 3)
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped", f"{handle.message}\n{handle.failure_detail}"
    finished = run_records(handle.folder, "finished")
    assert [record["status"] for record in finished] == ["stopped", "stopped"]
    assert len({record["steps"] for record in finished}) == 1


@pytest.mark.long(keep=1)
@pytest.mark.parametrize(("number", "lost"), [(signal.SIGKILL, 0), (signal.SIGSTOP, 1)])
def test_the_one_that_was_lost_is_named(
    launch: Callable[..., RunHandle], number: signal.Signals, lost: int
) -> None:
    handle = launch(2, cluster={"heartbeat_timeout_s": 60})  # so that the launcher is the first
    wait_for_step(handle, 3)
    os.kill(process_of(handle, lost), number)
    assert handle.wait(MAX_WAIT_S)
    assert str(handle.message).startswith(f"Worker {lost}: ")
    assert number.name in str(handle.message)
    status = derive_status(read_sources(handle.folder))
    assert (status.state, status.message) == ("failed", handle.message)
    assert len(strategy_profiles.load(handle.folder).table("steps")) > 3, "what was recorded stays"


@pytest.mark.long
def test_a_run_that_lost_a_worker_begins_again_from_the_leaders_checkpoint(
    launch: Callable[..., RunHandle],
) -> None:
    handle = launch(2, cluster={"checkpoint_every_steps": 5, "restarts": 1})
    wait_for_step(handle, 12)
    handle.kill_process(1)
    wait_until(lambda: len(steps_of(handle, segment=1)) > 3 or handle.is_over)
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped", f"{handle.message}\n{handle.failure_detail}"
    profile = strategy_profiles.load(handle.folder)
    segments = profile.table("segments").to_pylist()
    began_again = segments[1]["first_step"]
    assert began_again % 5 == 0
    assert began_again >= 10
    assert segments[1]["state_checksum_before"] == segments[1]["state_checksum_after"]
    again = steps_of(handle, segment=1)
    assert again == list(range(began_again, began_again + len(again)))
    records = run_records(handle.folder)
    records = [record for record in records if record["kind"] in ("exited", "note")]
    why = [r["message"] for r in records if "killed on request" in str(r["message"]).lower()]
    assert len(why) == 1, "the reason for its loss is recorded once"
    assert why[0].startswith("Worker 1: ")
    assert any("restarts from" in r["message"] for r in records if r["kind"] == "note")
    assert derive_status(read_sources(handle.folder)).state == "stopped"


STUCK = """
import json, os, time
import tensorflow as tf
from strategy_core.workloads.digits_mlp import build_model, build_optimizer, loss_fn
from strategy_core.workloads import digits_mlp

IS_SECOND = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("index") == 1

def build_dataset(global_batch_size, seed):
    def wait(number):
        time.sleep(3600 if IS_SECOND and number > 5 else 0)
        return number

    def kept(number, batch):
        waited = tf.py_function(wait, [number], tf.int64)
        with tf.control_dependencies([waited]):
            return tf.nest.map_structure(tf.identity, batch)

    return digits_mlp.build_dataset(global_batch_size, seed).enumerate().map(kept)
"""


def test_of_several_waiting_workers_the_one_that_holds_up_the_others_is_named(
    launch: Callable[..., RunHandle], tmp_path: Path
) -> None:
    workload = tmp_path / "stuck.py"
    workload.write_text(STUCK)
    handle = launch(2, workload=str(workload), hang_timeout_s=6)
    assert handle.wait(MAX_WAIT_S)
    assert handle.exit_reason is not None
    assert handle.exit_reason.verdict == "hung"
    assert str(handle.message).startswith("Worker 1: No event for ")
    assert "it waits for its input" in str(handle.message)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"devices": "cpu:2"}, "devices='cpu:2' is more than one CPU per worker"),
        (
            {"cross_device_ops": "hierarchical-copy"},
            "cannot use cross_device_ops=hierarchical-copy",
        ),
        ({"global_batch_size": 25}, "batch_size=25 cannot be shared equally"),
        (
            {"inject": [{"worker": 2, "replica": 0, "ms": 5}]},
            "The delay names worker=2, but the run has workers 0 to 1",
        ),
    ],
)
def test_a_cluster_that_cannot_be_is_refused_before_anything_starts(
    launcher: Launcher, tmp_path: Path, fields: dict[str, Any], rule: str
) -> None:
    assert launcher.wait_for_spare(MAX_WAIT_S)
    common = {"strategy": "multi-worker-mirrored", "workers": 2, "devices": "cpu:1"}
    with pytest.raises(SpecError, match=rule):
        launcher.launch(parse_spec({**common, **fields}), tmp_path / "run")
    assert not (tmp_path / "run").exists()
