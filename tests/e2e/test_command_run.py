"""`strategy-lab run` as a person and a script use it: processes, signals, exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pyarrow.compute as pc
import pytest

import strategy_profiles
from strategy_core.cli import _repeat
from strategy_core.cli.main import main
from strategy_core.launcher.launcher import Launcher
from strategy_core.planning import workload_catalog
from strategy_core.processes.import_path import with_own_code
from strategy_profiles.run.events import WindowCaptured
from tests.e2e.following import events, wait_until
from tests.processes import is_living
from tests.timeouts import MAX_WAIT_S

pytestmark = pytest.mark.run
LAB = (sys.executable, "-m", "strategy_core")
QUICK = ("--devices", "cpu:2", "--workload", "digits-mlp", "--global-batch-size", "64")


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*LAB, *arguments], capture_output=True, text=True, timeout=MAX_WAIT_S, check=False
    )


@contextmanager
def running(run: Path, *flags: str) -> Iterator[subprocess.Popen[str]]:
    """A run that would go on for long, and has done some steps."""
    endless = ("--steps", "100000", "--inject", "delay:replica=0,ms=20")  # asleep most of the time
    command = [*LAB, "run", *QUICK, *endless, *flags, "-o", str(run)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_until(lambda: process.poll() is not None or len(events(run, "step")) > 10)
            assert process.poll() is None, process.communicate()
            yield process
        finally:
            process.kill()


def test_json_lines_end_with_the_summary_and_no_generated_file_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "devices: cpu:2\nworkload: digits-mlp\nglobal_batch_size: 32\nsteps: 100\nseed: 7\n"
    )
    run = tmp_path / "run"
    flags = ("--global-batch-size", "64", "--set", "capture.window_steps=5")
    done = lab("run", str(spec), *flags, "--steps", "30", "--json", "-o", str(run),
               "--reconfigure", "10:devices=cpu:4", "--reconfigure", "10:global_batch_size=128",
               "--inject", "delay:replica=1,ms=5")  # fmt: skip
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["kind"] == "summary"
    assert lines[-1]["status"] == "finished"
    first, second = lines[-1]["segments"]
    assert (first["num_replicas"], first["global_batch_size"]) == (2, 64)
    assert (second["num_replicas"], second["global_batch_size"]) == (4, 128)
    assert [line["step"] for line in lines if line["kind"] == "step"] == list(range(30))
    own_spec = strategy_profiles.load(run).spec
    assert own_spec is not None
    assert (own_spec["seed"], own_spec["steps"], own_spec["capture"]["window_steps"]) == (7, 30, 5)
    assert own_spec["inject"] == [{"kind": "delay", "replica": 1, "ms": 5.0, "worker": 0}]
    assert [path.name for path in temporary.rglob("__autograph*")] == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_polite_signal_stops_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    run = tmp_path / "run"
    with running(run) as process:
        process.send_signal(number)
        assert process.wait(MAX_WAIT_S) == 0
    profile = strategy_profiles.load(run)
    assert profile.status.state == "stopped"
    assert profile.table("steps").num_rows > 10


def test_a_second_interrupt_ends_a_run_that_cannot_stop(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with running(run) as process:
        worker = events(run, "launched")[0]["pid"]
        os.kill(worker, signal.SIGSTOP)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert any("again to end at once" in line for line in process.stderr), "the first was heard"
        process.send_signal(signal.SIGINT)
        assert process.wait(MAX_WAIT_S) == 1
    assert not is_living(worker)
    assert strategy_profiles.load(run).table("steps").num_rows > 10


ASLEEP = """
import time
import tensorflow as tf
from strategy_core.workloads.digits_mlp import build_model

def build_dataset(global_batch_size, seed):
    def image(number):
        if number > 2000:
            time.sleep(3600)
        return tf.zeros(64)
    def example(number):
        image_of = tf.py_function(image, [number], tf.float32)
        return tf.ensure_shape(image_of, [64]), tf.constant(1)
    return tf.data.Dataset.range(10**6).map(example).batch(global_batch_size)
"""


def test_killing_the_command_ends_a_worker_even_inside_a_python_function(tmp_path: Path) -> None:
    (tmp_path / "asleep.py").write_text(ASLEEP)
    run = tmp_path / "run"
    with running(run, "--workload", str(tmp_path / "asleep.py")) as process:
        worker = events(run, "launched")[0]["pid"]
        wait_until(lambda: is_asleep(run))
        process.kill()
        wait_until(lambda: not is_living(worker))
    assert strategy_profiles.load(run).status.state == "incomplete"


def is_asleep(run: Path) -> bool:
    """No step was done for a second."""
    return time.time_ns() - events(run, "step")[-1]["at_ns"] > 1e9


NAN_DATA = """
import numpy as np, tensorflow as tf
from strategy_core.workloads.digits_mlp import build_model

def build_dataset(global_batch_size, seed):
    images = np.full((256, 64), np.nan, np.float32)
    return tf.data.Dataset.from_tensor_slices((images, np.zeros(256))).batch(global_batch_size)
"""


def test_data_with_nan_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "nan.py").write_text(NAN_DATA)
    done = lab("run", *QUICK, "--workload", str(tmp_path / "nan.py"), "-o", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "NaN" in done.stderr
    assert done.stderr.count("\n") == 1, "one line"


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = lab("ui", "--port", port, "--runs", str(tmp_path))
    assert done.returncode == 2
    assert port in done.stderr
    assert done.stderr.count("\n") == 1


def test_devices_lists_what_can_be_had(tmp_path: Path) -> None:
    done = subprocess.run(
        [*LAB, "devices", "--json"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    found = json.loads(done.stdout)
    assert any(device["kind"] == "CPU" for device in found["physical"])
    by_name = {strategy["name"]: strategy for strategy in found["strategies"]}
    assert by_name["mirrored"]["available"]
    unavailable = [s for s in found["strategies"] if not s["available"]]
    assert all(strategy["reason"] for strategy in unavailable)


def test_a_workload_in_a_project_of_its_own_gets_the_projects_modules(tmp_path: Path) -> None:
    for name in ("app", "profiles", "tests"):
        (tmp_path / f"{name}.py").write_text('OWNER = "user"\n')
    source = Path(workload_catalog.find("digits-mlp")).read_text(encoding="utf-8")
    checks = "".join(
        f"import {name}\nassert {name}.OWNER == 'user'\n" for name in ("app", "profiles", "tests")
    )
    (tmp_path / "workload.py").write_text(f"{source}\n{checks}")
    command = [*LAB, "run", "--devices", "cpu:2", "--workload", "workload.py", "--steps", "8"]
    done = subprocess.run(
        [*command, "-o", "run"],
        cwd=tmp_path,
        env=with_own_code(os.environ),
        capture_output=True,
        text=True,
        timeout=MAX_WAIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert strategy_profiles.load(tmp_path / "run").status.state == "finished"


def test_two_specs_are_run_in_turns_and_compared(
    tmp_path: Path,
    launcher: Launcher,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In this process, whose spare worker saves an import of TensorFlow."""
    monkeypatch.setattr(_repeat, "Launcher", lambda **_: nullcontext(launcher))
    other = tmp_path / "other.yaml"
    other.write_text("devices: cpu:2\nworkload: digits-mlp\nglobal_batch_size: 32\nsteps: 8\n")
    command = ["run", *QUICK, "--steps", "8", "--repeat", "1", "--interleave", str(other)]
    assert main([*command, "-o", str(tmp_path / "x")]) == 0
    a, b = (strategy_profiles.load(tmp_path / f"x-{side}-1") for side in "ab")
    assert [run.segments[0].global_batch_size for run in (a, b)] == [64, 32]
    assert [run.table("steps").num_rows for run in (a, b)] == [8, 8]
    assert a.notes == b.notes == ()
    out, err = capsys.readouterr()
    assert "in these two runs" in " ".join(out.split()), "it may end a line within these words"
    assert err.count("run 1 of 1") == 2


@pytest.mark.long
def test_a_step_of_many_packs_on_eight_devices_is_captured_at_once(tmp_path: Path) -> None:
    """Its first capture has taken minutes."""
    run, allowed_s = tmp_path / "run", 60
    spec = ("--devices", "cpu:8", "--workload", "digits-cnn", "--global-batch-size", "64")
    packs = ("--set", "cross_device_ops=collective-ring", "--set", "bytes_per_pack=1000")
    every = ("--set", "capture.every_step=true", "--set", "capture.window_steps=2")
    command = [*LAB, "run", *spec, *packs, *every, "--steps", "4", "-o", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=allowed_s, check=False)
    assert done.returncode == 0, done.stderr
    profile = strategy_profiles.load(run)
    assert profile.events(WindowCaptured)[0].error is None
    calls = profile.table("collectives").filter(pc.field("step") == 2)
    assert calls.num_rows / 8 > 4  # packs of a step
