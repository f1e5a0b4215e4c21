"""Real training in real workers: changed while it runs, refused, moved to a fresh worker, ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_core.launcher import record_limit
from strategy_core.launcher.launcher import Launcher, RunHandle
from strategy_profiles.run.checkpoints import last_saved_state
from strategy_profiles.spec.run_spec import RunSpec
from tests.e2e.following import events, wait_until
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
Launch = Callable[..., RunHandle]
ENDLESS = {"steps": 100_000, "inject": [{"kind": "delay", "replica": 0, "ms": 20}]}
"""A run that its test ends. It sleeps in its steps: at full speed it would keep every core busy."""


@pytest.fixture
def launch(launcher: Launcher, tmp_path: Path) -> Iterator[Launch]:
    handles: list[RunHandle] = []

    def launch(**fields: Any) -> RunHandle:
        asked = {"devices": "cpu:2", "workload": "digits-mlp", "global_batch_size": 64}
        spec = RunSpec.model_validate(asked | ENDLESS | fields)
        handles.append(launcher.launch(spec, tmp_path / "run"))
        return handles[-1]

    yield launch
    for handle in handles:
        handle.kill()
        assert handle.wait(MAX_WAIT_S)


def answer(handle: RunHandle, changes: dict[str, Any]) -> dict[str, Any]:
    """Ask for a change and wait for what becomes of it."""
    number = handle.reconfigure(changes)

    def found() -> list[dict[str, Any]]:
        return [a for a in events(handle.folder, "answer") if a["number"] == number]

    wait_until(lambda: bool(found()) or handle.is_over)
    assert found(), f"{handle.message}\n{handle.failure_detail}"
    return found()[0]


def stop(handle: RunHandle) -> None:
    handle.stop()
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped", handle.message


def has_steps(handle: RunHandle, count: int) -> None:
    wait_until(lambda: (handle.step or 0) >= count or handle.is_over)
    assert not handle.is_over, f"{handle.message}\n{handle.failure_detail}"


def assert_one_run(run: Path) -> None:
    """Steps go on one by one, and no segment changed the state that it found."""
    steps = [record["step"] for record in events(run, "step")]
    assert steps == list(range(len(steps)))
    for segment in events(run, "segment")[1:]:
        assert segment["state_checksum_before"] is not None
        assert segment["state_checksum_before"] == segment["state_checksum_after"]


def test_a_finished_run_leaves_a_whole_profile(finished_run: Path) -> None:
    profile = strategy_profiles.load(finished_run)
    assert profile.status.state == "finished"
    assert [segment.num_replicas for segment in profile.segments] == [2, 4]
    assert profile.table("steps").num_rows == 40
    assert profile.environment is not None
    assert_one_run(finished_run)
    losses = profile.table("steps")["loss"].to_pylist()
    assert sum(losses[-10:]) < 0.7 * sum(losses[:10]), "it learns, across the change too"


def test_changes_in_the_worker(launch: Launch) -> None:
    handle = launch()
    has_steps(handle, 10)
    pids = handle.pids
    for changes in (
        {"devices": "cpu:4"},
        {"strategy": "central-storage", "devices": "cpu:2"},
        {"global_batch_size": 32, "inject": [{"kind": "delay", "replica": 1, "ms": 5}]},
    ):
        assert answer(handle, changes)["status"] == "applied"
    refused = answer(handle, {"global_batch_size": 31})
    assert refused["status"] == "rejected"
    assert "batch_size=31 cannot be shared equally" in refused["message"]
    has_steps(handle, (handle.step or 0) + 3)
    assert handle.pids == pids
    stop(handle)
    segments = events(handle.folder, "segment")
    assert [(s["strategy"], s["num_replicas"]) for s in segments] == [
        ("mirrored", 2),
        ("mirrored", 4),
        ("central-storage", 2),
        ("central-storage", 2),
    ]
    assert {segment["moved"] for segment in segments[1:]} == {"same-worker"}
    assert_one_run(handle.folder)


@pytest.mark.long
def test_a_run_continues_from_a_change_in_which_its_worker_was_killed(launch: Launch) -> None:
    handle = launch()
    has_steps(handle, 10)
    assert answer(handle, {"devices": "cpu:4"})["status"] == "applied"
    handle.kill()
    assert handle.wait(MAX_WAIT_S)
    saved = last_saved_state(handle.folder)
    assert saved is not None
    assert saved.step == events(handle.folder, "segment")[1]["first_step"]


def test_a_run_until_stopped_ends_at_the_limit_of_its_record(
    launch: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_limit, "LOOK_EVERY_S", 0.5)
    handle = launch(steps=None, inject=[], capture={"limit_mb": 1, "every_step": True})
    assert handle.wait(MAX_WAIT_S)
    assert handle.status == "stopped"
    notes = [note["message"] for note in events(handle.folder, "note")]
    assert any("its folder holds 1 MB" in note for note in notes)


def test_a_run_continues_from_the_end_of_another(launcher: Launcher, tmp_path: Path) -> None:
    fields = {"devices": "cpu:2", "workload": "digits-mlp", "global_batch_size": 64}
    first = launcher.launch(RunSpec.model_validate(fields | {"steps": 8}), tmp_path / "first")
    assert first.wait(MAX_WAIT_S)
    saved = last_saved_state(first.folder)
    assert saved is not None
    assert saved.step == 8
    spec = RunSpec.model_validate(fields | {"steps": 16, "devices": "cpu:4"})
    then = launcher.launch(spec, tmp_path / "then", saved.path)
    assert then.wait(MAX_WAIT_S), then.message
    assert [step["step"] for step in events(then.folder, "step")] == list(range(8, 16))
    (segment,) = events(then.folder, "segment")
    assert segment["segment"] == 0
    assert segment["state_checksum_before"] == segment["state_checksum_after"]
    profile = strategy_profiles.load(then.folder)
    assert (profile.status.state, profile.table("steps").num_rows) == ("finished", 8)


def test_a_change_to_what_is_in_force_costs_nothing(launch: Launch) -> None:
    handle = launch()
    has_steps(handle, 3)
    found = answer(handle, {"cross_device_ops": "collective-ring", "devices": "cpu:2"})
    assert (found["status"], found["took_ms"]) == ("applied", 0)
    assert "auto is collective-ring here" in found["message"]
    stop(handle)
    assert len(events(handle.folder, "segment")) == 1


@pytest.mark.long
def test_a_change_that_takes_a_fresh_worker(launch: Launch) -> None:
    handle = launch()
    has_steps(handle, 5)
    pids = handle.pids
    assert answer(handle, {"devices": "cpu:3,cpu:9"})["status"] == "applied"
    wait_until(lambda: len(handle.pids) == 1)
    assert handle.pids != pids
    assert answer(handle, {"devices": "cpu:2"})["status"] == "applied"
    stop(handle)
    segments = events(handle.folder, "segment")
    assert [s["moved"] for s in segments] == [None, "fresh-worker", "same-worker"]
    assert segments[1]["replica_devices"][1].endswith("CPU:9")
    assert [e["verdict"] for e in events(handle.folder, "exited")] == ["replaced", "stopped"]
    assert_one_run(handle.folder)


def test_a_broken_workload_is_refused_in_words(launch: Launch, tmp_path: Path) -> None:
    workload = tmp_path / "mine.py"
    workload.write_text("raise RuntimeError('no data today')")
    handle = launch(workload=str(workload))
    assert handle.wait(MAX_WAIT_S)
    assert handle.exit_code == 2
    assert "no data today" in str(handle.message)
    assert "mine.py" in str(handle.message)
    assert "Traceback" not in str(handle.message)


ASLEEP = """
import time
import keras, tensorflow as tf
from strategy_core.workloads.digits_mlp import build_model

def build_dataset(global_batch_size, seed):
    def example(number):
        if number > 500:
            time.sleep(3600)
        return tf.zeros(64)
    def load(number):
        x = tf.py_function(example, [number], tf.float32)
        return tf.ensure_shape(x, [64]), tf.constant(1)
    numbers = tf.data.Dataset.range(10**6)
    return numbers.map(load).batch(global_batch_size, drop_remainder=True)
"""


def test_a_hung_input_is_found_and_kept(launch: Launch, tmp_path: Path) -> None:
    workload = tmp_path / "asleep.py"
    workload.write_text(ASLEEP)
    handle = launch(workload=str(workload), hang_timeout_s=6.0)
    assert handle.wait(MAX_WAIT_S)
    assert events(handle.folder, "exited")[-1]["verdict"] == "hung"
    assert re.search(r"No event for \d+ s; .*; it waits for its input", str(handle.message))
    assert len(events(handle.folder, "step")) >= 1
    assert strategy_profiles.load(handle.folder).status.state == "failed"
