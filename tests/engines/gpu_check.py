"""What only a machine with GPUs can prove: `make test-gpu`. Written ahead; not run on a GPU yet.

Without a GPU that TensorFlow can use it fails, with TensorFlow's own reason. At its end it says
what held, and on which cards.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import strategy_profiles
from strategy_core.launcher.launcher import Launcher
from strategy_core.planning.inventory import PhysicalDevice, probe
from strategy_core.runtime.nvml import Card, cards
from strategy_profiles.capture import xspace
from strategy_profiles.capture.launches import launching_calls
from strategy_profiles.run.events import WindowCaptured

PROVED: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def gpus(request: pytest.FixtureRequest) -> Iterator[list[PhysicalDevice]]:
    inventory = probe()
    gpu_devices = [device for device in inventory.physical if device.kind == "GPU"]
    if not gpu_devices:
        why = inventory.why_no_gpu or "it gives no reason"
        pytest.exit(f"make test-gpu needs a GPU that TensorFlow can use; TensorFlow: {why}", 1)
    yield gpu_devices
    names = ", ".join(device.description or device.name for device in gpu_devices)
    terminal = request.config.pluginmanager.get_plugin("terminalreporter")
    for line in PROVED:
        terminal.write_line(f"proved on {names}: {line}")


def _lab(*arguments: str) -> str:
    command = [sys.executable, "-m", "strategy_core", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _run(folder: Path, *arguments: str) -> strategy_profiles.Profile:
    _lab("run", "--steps", "160", "-o", str(folder), *arguments)
    return strategy_profiles.load(folder)


def _two(gpus: list[PhysicalDevice]) -> list[str]:
    """Arguments for two replicas: on two cards, or on two logical GPUs of one."""
    return ["--devices", "gpu:2", *([] if len(gpus) > 1 else ["--set", "gpu_memory_mb=4000"])]


def _captured(run: strategy_profiles.Profile) -> list[dict[str, Any]]:
    assert [text for window in run.events(WindowCaptured) for text in window.problems] == []
    rows = run.table("replica_steps").to_pylist()
    assert rows, "TensorFlow's profiler recorded no kernel of the run"
    return rows


PROGRAM = """
import json, statistics, sys, time
import tensorflow as tf
from strategy_core.recorder.marks import clock_s
for gpu in tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(gpu, True)
with tf.device("/GPU:0"):
    x = tf.random.uniform([64 << 20])

@tf.function(autograph=False)
def step(x):
    with tf.device("/GPU:0"):
        for _ in range(30):
            x = tf.sin(x) * 1.0001
        return clock_s(x), x

rows = []
for _ in range(22):
    tf.test.experimental.sync_devices()
    began = time.time()
    mark, y = step(x)
    returned = time.time()
    tf.test.experimental.sync_devices()
    rows.append([(t - began) * 1e3 for t in (returned, float(mark), time.time())])
    del y
print(json.dumps([statistics.median(column) for column in zip(*rows[2:])]))
"""


def test_a_timestamp_is_the_end_of_the_kernels_and_not_of_their_launch() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    returned_ms, marked_ms, done_ms = json.loads(done.stdout.splitlines()[-1])
    assert done_ms > 2 * returned_ms, "the program must launch faster than the card computes"
    assert marked_ms == pytest.approx(done_ms, rel=0.1)
    PROVED.append(f"a timestamp is {marked_ms:.2f} ms behind {done_ms:.2f} ms of kernels")


def test_a_capture_of_one_card_has_its_compute(tmp_path: Path) -> None:
    rows = _captured(_run(tmp_path / "run", "--strategy", "one-device", "--devices", "gpu:1"))
    assert {row["clock"] for row in rows} == {"device"}
    assert all(row["compute_ms"] > 0 for row in rows)
    PROVED.append("a capture of one card has its kernels, in each step")


def test_each_kernel_has_a_launch_before_it(tmp_path: Path) -> None:
    """Without launches no kernel belongs to its step, and no step is launch-bound."""
    run = _run(tmp_path / "run", "--strategy", "one-device", "--devices", "gpu:1")
    assert run.events(WindowCaptured)
    file = next((tmp_path / "run").rglob("*.xplane.pb"))
    columns = xspace.decode(file.read_bytes())
    (executed,) = [each.events for each in columns.device_events.values() if len(each)]
    launches = columns.events(xspace.LAUNCH)
    call = launching_calls(executed.key, launches.key)
    known = call >= 0
    assert known.mean() > 0.99
    assert (launches.start_ns[call[known]] <= executed.start_ns[known]).mean() > 0.99
    PROVED.append(f"{known.sum()} of {len(known)} kernels and copies have a launch before them")


def test_a_late_replica_is_waited_for(tmp_path: Path, gpus: list[PhysicalDevice]) -> None:
    inject = ["--inject", "delay:replica=1,ms=30"]
    run = _run(tmp_path / "run", "--strategy", "mirrored", *_two(gpus), *inject)
    rows = [row for row in _captured(run) if row["replica"] == 0]
    waits = sorted(row["wait_ms"] + row["idle_ms"] for row in rows)
    waited_ms = waits[len(waits) // 2]
    assert waited_ms == pytest.approx(30, rel=0.25)
    collectives = run.table("collectives").to_pylist()
    assert collectives
    assert all(row["transfer_ms"] > 0 for row in collectives if row["source"] == "measured")
    PROVED.append(f"the other replica waits {waited_ms:.1f} ms for one that is 30 ms late")


def test_marks_and_captures_agree(tmp_path: Path, gpus: list[PhysicalDevice]) -> None:
    run = _run(tmp_path / "run", "--strategy", "mirrored", *_two(gpus))
    marks = run.table("marks").to_pylist()
    marked = sorted(row["compute_ms"] for row in marks if row["compute_ms"])
    captured = sorted(row["compute_ms"] for row in _captured(run))
    assert marked[len(marked) // 2] >= 0.8 * captured[len(captured) // 2]
    PROVED.append("timestamps and captures agree on the computation")


def _most_taken(before: tuple[Card, ...]) -> int:
    """By how many bytes the memory in use of a card has grown, at most."""
    now = cards()
    assert not isinstance(now, str)
    pairs = zip(before, now, strict=True)
    return max((after.used_bytes or 0) - (then.used_bytes or 0) for then, after in pairs)


@pytest.fixture
def memory() -> tuple[Card, ...]:
    before = cards()
    if isinstance(before, str):
        pytest.skip(f"needs NVML: {before}")
    return before


def test_a_run_on_cpus_takes_no_memory_of_a_card(tmp_path: Path, memory: tuple[Card, ...]) -> None:
    command = [sys.executable, "-m", "strategy_core", "run", "--devices", "cpu:2", "--steps", "400"]
    run = subprocess.Popen([*command, "-o", str(tmp_path / "run")])
    try:
        time.sleep(20)
        assert _most_taken(memory) < 64 << 20
    finally:
        run.wait(300)
    PROVED.append("a run on CPUs opens no context on a card")


def test_a_spare_worker_takes_no_memory_of_a_card(memory: tuple[Card, ...]) -> None:
    with Launcher(spare=True) as launcher:
        assert launcher.wait_for_spare(120)
        assert _most_taken(memory) < 64 << 20
    PROVED.append("a spare worker opens no context on a card")


def test_a_program_that_reads_no_result_is_timed_from_sync_to_sync(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(AHEAD)
    # From sync to sync needs a second window, which comes once the first one has been paid for.
    often = ["--set", "capture.overhead_budget=0.5"]
    traced = _lab("trace", *often, "-o", str(tmp_path / "run"), str(program))
    true_ms = float(next(line for line in traced.splitlines() if line.startswith("true "))[5:])
    summary = json.loads(_lab("summary", str(tmp_path / "run"), "--json"))
    wall = summary["segments"][0]["steps"]["wall_ms"]
    assert wall["synced_mean"] == pytest.approx(true_ms, rel=0.2)
    PROVED.append(f"steps of {true_ms:.2f} ms are {wall['synced_mean']:.2f} ms from sync to sync")


AHEAD = """
import time
import tensorflow as tf
with tf.device("/GPU:0"):
    x = tf.Variable(tf.random.uniform([16 << 20]))

@tf.function
def train_step():
    with tf.GradientTape() as tape:  # without one, no call is a step
        y = x
        for _ in range(25):
            y = tf.sin(y) * 1.0001
        loss = tf.reduce_sum(y)
    x.assign_sub(1e-6 * tape.gradient(loss, x))
    return loss

for _ in range(20):
    train_step()
tf.test.experimental.sync_devices()
began = time.perf_counter()
for _ in range(2000):
    train_step()
tf.test.experimental.sync_devices()
print("true", (time.perf_counter() - began) / 2000 * 1e3, flush=True)
"""
