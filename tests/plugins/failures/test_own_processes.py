"""Failures that need a process of their own: traced programs, and lost processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import strategy_profiles
from strategy_core.processes.import_path import with_own_code

pytestmark = [pytest.mark.tf, pytest.mark.run]

TWO_CPUS = """
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
"""
EMPTY_BATCH = f"""{TWO_CPUS}
import keras
strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
class ByFirst(keras.layers.Layer):
    def call(self, batch):
        return batch / batch[0]
with strategy.scope():
    model = keras.Sequential([ByFirst(), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat(9).batch(4), verbose=0)
"""
DEVICE_TWICE = f"""{TWO_CPUS}
tf.distribute.MirroredStrategy(["CPU:0", "CPU:0"])
"""
OWN_ERROR = """
import tensorflow as tf
raise ValueError("no such model")
"""

FIT_ON_WORKERS = """
import json, os, socket, subprocess, sys
if "TF_CONFIG" not in os.environ:
    free = [socket.create_server(("localhost", 0)) for _ in range(2)]
    hosts = [f"localhost:{each.getsockname()[1]}" for each in free]
    for each in free:
        each.close()
    tasks = [{"type": "worker", "index": number} for number in range(2)]
    clusters = [json.dumps({"cluster": {"worker": hosts}, "task": task}) for task in tasks]
    run = [sys.executable, __file__]
    workers = [subprocess.Popen(run, env=os.environ | {"TF_CONFIG": each}) for each in clusters]
    sys.exit(max(each.wait() for each in workers))
import keras
import tensorflow as tf
with tf.distribute.MultiWorkerMirroredStrategy().scope():
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(tf.data.Dataset.from_tensors(([1.0], [1.0])).repeat(9).batch(4), verbose=0)
"""


def traced(folder: Path, program: str) -> tuple[str, strategy_profiles.Profile]:
    """What a program that fails under `trace` prints, and its run."""
    (folder / "train.py").write_text(program)
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "strategy_core", "trace", "-o", "run", "train.py"],
        cwd=folder,
        env=with_own_code(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode != 0
    return ran.stderr, strategy_profiles.load(folder / "run")


def test_an_error_of_one_replica_is_explained_though_it_ends_the_collectives(
    tmp_path: Path,
) -> None:
    errors, profile = traced(tmp_path, EMPTY_BATCH)
    (segment,) = profile.summary()["segments"]
    finding = segment["findings"][0]
    assert finding["key"] == "failure"
    assert finding["evidence"]["cause"] == "empty-batch"
    assert "got no example" in segment["headline"]
    assert f"strategy-lab: {finding['sentence']}" in errors
    assert f"strategy-lab: {finding['advice']}" in errors


def test_a_run_that_fails_before_its_first_step_has_the_cause_as_its_headline(
    tmp_path: Path,
) -> None:
    errors, profile = traced(tmp_path, DEVICE_TWICE)
    said = (
        "The run failed before its first step at train.py:6 because the strategy was given one "
        "device twice"
    )
    assert f"strategy-lab: {said}" in errors
    assert "strategy-lab: Name each device once." in errors
    summary = profile.summary()
    assert summary["segments"] == []
    assert summary["headline"].startswith(said)
    listing = subprocess.run(
        [sys.executable, "-P", "-m", "strategy_core", "summary", "run"],
        cwd=tmp_path,
        env=with_own_code(os.environ) | {"COLUMNS": "400"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert said in listing.stdout


@pytest.mark.long
def test_fit_of_keras_3_on_workers_fails_for_a_reason_that_the_run_says(tmp_path: Path) -> None:
    _, profile = traced(tmp_path, FIT_ON_WORKERS)
    said = "The run failed before its first step at train.py:18 because fit() of Keras 3 averages"
    assert profile.summary()["headline"].startswith(said)


@pytest.mark.long
def test_an_unknown_error_before_the_first_step_has_its_line_and_only_its_own_traceback(
    tmp_path: Path,
) -> None:
    errors, profile = traced(tmp_path, OWN_ERROR)
    said = "The run failed before its first step at train.py:3: ValueError: no such model."
    assert said not in errors
    assert profile.summary()["headline"] == said


SERVER = """
import sys
import tensorflow as tf
address = sys.argv[1]
tf.distribute.Server({"worker": [address]}, job_name="worker", task_index=0)
print("ready", flush=True)
sys.stdin.read()
"""
LOST_WORKER = """
import json, socket, subprocess, sys
import tensorflow as tf
from strategy_core.recorder.failure import failed_by
from strategy_profiles.analysis.failures import matching
with socket.socket() as free:
    free.bind(("localhost", 0))
    address = f"localhost:{free.getsockname()[1]}"
server = subprocess.Popen(
    [sys.executable, "-c", sys.argv[1], address],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
)
assert server.stdout.readline() == "ready\\n"
tf.config.experimental_connect_to_host(address, "worker")
step = tf.function(lambda: tf.random.uniform([]) + 1)
try:
    with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
        step().numpy()
        server.kill()
        server.wait()
        step().numpy()
except Exception as error:
    failed = failed_by(error)
    print(json.dumps([failed.message, failed.detail, [each.key for each in matching(failed)]]))
"""


@pytest.mark.long
def test_a_process_of_the_cluster_that_ended_is_the_cause() -> None:
    ran = subprocess.run(
        [sys.executable, "-P", "-c", LOST_WORKER, SERVER],
        env=with_own_code(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout, ran.stderr[-2000:]
    message, _, keys = json.loads(ran.stdout)
    assert keys == ["lost-worker"], message
