"""Kill the launcher any way there is: its workers, and what they started, are gone at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from profiles.sources import read_sources
from profiles.spec import RunSpec
from profiles.status import derive_status
from strategy_core.processes import protocol

pytestmark = pytest.mark.run
PRETENDED = Path(__file__).parent / "pretend_worker.py"
ROOT = Path(__file__).parents[3]
GONE_WITHIN_S = 20.0
"""A moment on a machine that has time; what is never ended is there after this, too."""

LAUNCH_AND_WAIT = """
import signal, sys, threading, time
from pathlib import Path
from profiles.spec import RunSpec
from strategy_core.launcher import Launcher

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
launcher = Launcher(spare=True, worker_command=(sys.executable, "-P", sys.argv[1]))
spec = RunSpec(devices="cpu:2", steps=100000, workload_options={"accident": sys.argv[3]})
# From a thread that ends, as those of a web page do: the worker must not notice.
thread = threading.Thread(target=launcher.launch, args=(spec, sys.argv[2]))
thread.start()
thread.join()
launcher.wait_for_spare(10)
time.sleep(3600)
"""


@contextmanager
def launching(run: Path, accident: str) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A process that launches and waits, and the pids of everything below it."""
    command = [sys.executable, "-c", LAUNCH_AND_WAIT, str(PRETENDED), str(run), accident]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            deadline = time.monotonic() + 60
            while not has_come_far(process, run):
                assert time.monotonic() < deadline, "the launcher did not get that far"
                assert process.poll() is None
                time.sleep(0.02)
            below = psutil.Process(process.pid).children(recursive=True)
            yield process, [child.pid for child in below]
        finally:
            process.kill()


def has_come_far(process: subprocess.Popen[bytes], run: Path) -> bool:
    """A worker is in its run, and the next spare waits beside it."""
    events = run / "worker-0-0" / "events.jsonl"
    if not events.exists() or events.read_bytes().count(b'"kind": "step"') < 3:
        return False
    started = psutil.Process(process.pid).children()
    return sum(str(PRETENDED) in child.cmdline() for child in started) == 2


def child_pid(run: Path) -> int:
    """The process that the worker's user code started."""
    child_file = run / "worker-0-0" / "child.pid"
    deadline = time.monotonic() + 20
    while not (child_file.exists() and child_file.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(child_file.read_text())


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + GONE_WITHIN_S
    while left := [pid for pid in pids if is_living(pid)]:
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.01)


def is_living(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("accident", ["none", "silence", "child", "child that left"])
def test_workers_end_with_their_launcher(
    tmp_path: Path, how: signal.Signals, accident: str
) -> None:
    run = tmp_path / "run"
    with launching(run, accident) as (process, pids):
        if accident.startswith("child"):
            pids.append(child_pid(run))
        os.kill(process.pid, how)
        process.wait(20)
        wait_until_gone(pids)
    status = derive_status(read_sources(run))
    assert status.state == "incomplete", "cut off, and everything until then is readable"
    steps = [r["step"] for source in read_sources(run) for r in source.of_kind("step")]
    assert len(steps) >= 3
    assert steps == list(range(len(steps)))


def test_a_worker_whose_launcher_is_gone_before_it_starts_ends(tmp_path: Path) -> None:
    """The kernel's promise comes too late for a parent that died first: the worker looks itself."""
    command = [sys.executable, "-P", str(PRETENDED), "--parent", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=tmp_path, env=environment, start_new_session=True
    ) as process:
        assert process.wait(20) == -signal.SIGKILL


def test_the_end_of_stdin_ends_a_worker_and_what_it_started(tmp_path: Path) -> None:
    """What holds where the kernel makes no promise."""
    spec = RunSpec(devices="cpu:2", workload_options={"accident": "child"}).to_json()
    command = [sys.executable, "-P", str(PRETENDED), "--parent", str(os.getpid())]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        run = protocol.Run(1, str(tmp_path), 0, 0, spec)
        process.stdin.write(protocol.command_line(run))
        process.stdin.flush()
        pid = child_pid(tmp_path)
        process.stdin.close()
        assert process.wait(20) == -signal.SIGKILL
        wait_until_gone([pid])
