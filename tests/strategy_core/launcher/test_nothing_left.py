"""Kill the launcher any way there is: its workers, and what they started, are gone at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from strategy_core.processes import protocol
from strategy_profiles.run.event_files import read_sources
from strategy_profiles.run.status import derive_status
from strategy_profiles.spec.run_spec import RunSpec
from tests.event_records import run_records
from tests.processes import all_below, is_living
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.run
PRETENDED = Path(__file__).parent / "pretend_worker.py"
ROOT = Path(__file__).parents[3]

FORKED = "tests.strategy_core.launcher.pretend_worker"

LAUNCH_AND_WAIT = """
import signal, sys, threading, time
from pathlib import Path
from strategy_profiles.spec.run_spec import RunSpec
from strategy_core.launcher.launcher import Launcher
from tests.timeouts import MAX_WAIT_S

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup it would be ignored
launcher = Launcher(spare=True, worker_command=[sys.executable, "-P", *sys.argv[1].split()])
if sys.argv[1].startswith("-m"):
    first = launcher.launch(RunSpec(devices="cpu:2", steps=3), sys.argv[2] + "-first")
    assert first.wait(MAX_WAIT_S)
    assert launcher.wait_for_spare(MAX_WAIT_S)  # this one and the next are forked
spec = RunSpec(devices="cpu:2", steps=100000, workload_options={"accident": sys.argv[3]})
# From a thread that ends, as those of a web page do: the worker must not notice.
thread = threading.Thread(target=launcher.launch, args=(spec, sys.argv[2]))
thread.start()
thread.join()
launcher.wait_for_spare(MAX_WAIT_S)
print("ready", flush=True)
time.sleep(3600)
"""


@contextmanager
def launching(
    run: Path, accident: str, worker: str
) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A process that launches and waits, and the pids of everything below it."""
    command = [sys.executable, "-c", LAUNCH_AND_WAIT, worker, str(run), accident]
    with subprocess.Popen(
        command,
        start_new_session=True,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n", "the next spare waits"
            wait_until(lambda: process.poll() is not None or has_come_far(run))
            assert process.poll() is None
            yield process, [below.pid for below in all_below(process.pid)]
        finally:
            process.kill()


def has_come_far(run: Path) -> bool:
    """A worker is in its run."""
    events = run / "worker-0-0" / "events.jsonl"
    return events.exists() and events.read_bytes().count(b'"kind":"step"') >= 3


def child_pid(run: Path) -> int:
    """The process that the worker's user code started."""
    child_file = run / "worker-0-0" / "child.pid"
    wait_until(lambda: child_file.exists() and child_file.read_text() != "")
    return int(child_file.read_text())


def wait_until_gone(pids: list[int]) -> None:
    """What is never ended is there after any time."""
    wait_until(lambda: not any(map(is_living, pids)))


ACCIDENTS = ("none", "silence", "child", "child that left", "child without a mark", "forked child")
ENDS = [
    *((signal.SIGKILL, accident) for accident in ACCIDENTS),
    # The launcher handles neither: for its workers they are the same end.
    (signal.SIGTERM, "forked child"),
    (signal.SIGHUP, "child that left"),
]


@pytest.mark.long(keep=4)
@pytest.mark.parametrize("worker", [str(PRETENDED), f"-m {FORKED}"], ids=["executed", "forked"])
@pytest.mark.parametrize(("how", "accident"), ENDS)
def test_workers_end_with_their_launcher(
    tmp_path: Path, how: signal.Signals, accident: str, worker: str
) -> None:
    run = tmp_path / "run"
    with launching(run, accident, worker) as (process, pids):
        if "child" in accident:
            pids.append(child_pid(run))
        os.kill(process.pid, how)
        process.wait(MAX_WAIT_S)
        wait_until_gone(pids)
    status = derive_status(read_sources(run))
    assert status.state == "incomplete", "cut off, and everything until then is readable"
    steps = [r["step"] for r in run_records(run, "step")]
    assert len(steps) >= 3
    assert steps == list(range(len(steps)))


def test_a_worker_whose_launcher_is_gone_before_it_starts_ends(tmp_path: Path) -> None:
    """The kernel's promise comes too late for a parent that died first: the worker looks itself."""
    command = [sys.executable, "-P", str(PRETENDED), "--parent", "1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, cwd=tmp_path, env=environment, start_new_session=True
    ) as process:
        assert process.wait(MAX_WAIT_S) == -signal.SIGKILL


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
        assert process.wait(MAX_WAIT_S) == -signal.SIGKILL
        wait_until_gone([pid])
