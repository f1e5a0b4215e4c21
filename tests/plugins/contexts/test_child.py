"""A program recorded in a process of its own: what it does there never reaches this one."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from strategy_contexts import child
from strategy_contexts.limits import Limits
from strategy_core.processes import scratch
from strategy_profiles.errors import LabError
from tests.doors.hostile import TEXTS
from tests.processes import children_of, command_of, is_living
from tests.timeouts import wait_until

pytestmark = pytest.mark.run

LOOP = "def demonstrate(strategy):\n    while True: pass\n"
IDLE = "import time\ndef demonstrate(strategy):\n    time.sleep(600)\n"
CRASH = """
import os
def demonstrate(strategy):
    os.write(2, b'one\\ntwo\\nI0000 a line of a log\\n')
    os._exit(7)
"""
FINE = 'def demonstrate(strategy):\n    print("replicas", strategy.num_replicas_in_sync)\n'
MEMORY = """
def demonstrate(strategy):
    held = []
    while True:
        held.append(bytearray(b"x" * 50_000_000))
"""
FORKS = """
import os, time
def demonstrate(strategy):
    while True:
        if os.fork() == 0:
            time.sleep(600)
        time.sleep(0.01)
"""
LEAVES = """
import subprocess, sys, time
def demonstrate(strategy):
    # A session of its own, an empty environment, and a parent that ends at once.
    inner = "import time; time.sleep(600)  # strategy-lab-test-leaver"
    outer = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]], "
    outer += "start_new_session=True, env={})"
    subprocess.Popen([sys.executable, "-c", outer, inner], start_new_session=True, env={}).wait()
    print("left")
    {then}
"""
BOMB = """
import os, time
def demonstrate(strategy):
    while True:  # all of them fork: their number doubles, slowly enough for a machine in use
        os.fork()
        time.sleep(0.5)
"""
WRITES = """
def demonstrate(strategy):
    for number in range(10_000):
        with open(f"{number}", "wb") as file:
            file.write(b"x" * 10_000_000)
"""
IMPORTS = """
import app, profiles.own
def demonstrate(strategy):
    print(app.NAME, profiles.own.NAME)
"""
AFTER_WALL = Limits(wall_s=8)


@pytest.fixture(autouse=True)
def _nothing_is_left(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # A temporary folder of its own: labs that other tests kill leave their scratch in `/tmp`.
    temporary = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr(tempfile, "tempdir", None)  # so that this process reads TMPDIR again
        yield
    assert not children_of(command="strategy_contexts")
    assert not leavers()
    assert not list(temporary.glob(f"{scratch.PREFIX}*"))


def leavers() -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter()
        if is_living(process.pid) and "strategy-lab-test-leaver" in " ".join(command_of(process))
    ]


def test_a_program_in_a_file_imports_the_modules_beside_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("NAME = 'own app'\n")
    (tmp_path / "profiles").mkdir()
    (tmp_path / "profiles" / "__init__.py").touch()
    (tmp_path / "profiles" / "own.py").write_text("NAME = 'own profiles'\n")
    found = child.record(IMPORTS, strategy="mirrored", devices="cpu:2", folder=tmp_path)
    assert found["error"] is None
    assert "own app own profiles" in json.dumps(found)


def test_a_program_is_recorded_with_what_it_printed() -> None:
    recording = child.record(FINE, strategy="mirrored", devices="cpu:3")
    assert [line["text"] for line in recording["trace"]["printed"]] == ["replicas 3"]
    assert len(recording["devices"]) == 3


@pytest.mark.long(keep=2)
@pytest.mark.parametrize(
    ("program", "limits", "said"),
    [
        (IDLE, AFTER_WALL, "stopped after 8 s, the longest it may run"),
        (LOOP, Limits(cpu_s=8), "more than 8 s of processor time"),
        (MEMORY, Limits(memory_bytes=1_500_000_000), r"GB of memory; 1.5 GB is the limit"),
        (FORKS, Limits(num_processes=8), r"processes; 8 is the limit"),
        (BOMB, Limits(num_processes=8), r"processes; 8 is the limit"),
        (WRITES, Limits(disk_bytes=100_000_000), "to its folder; 100 MB is the limit"),
    ],
    ids=["time", "processor time", "memory", "processes", "fork bomb", "disk"],
)
def test_a_program_is_stopped_at_a_limit_which_is_named(
    program: str, limits: Limits, said: str
) -> None:
    with pytest.raises(LabError, match=said):
        child.record(program, strategy="default", devices="cpu:1", limits=limits)


@pytest.mark.parametrize("then", ["pass", "while True: pass"], ids=["ends", "goes on"])
def test_a_programs_child_processes_end_with_it_even_in_other_sessions(then: str) -> None:
    recording = child.start(LEAVES.replace("{then}", then), strategy="default", devices="cpu:1")
    try:
        wait_until(lambda: bool(leavers()) or not recording.is_running)
        if then != "pass":
            recording.stop()
        else:
            assert recording.result()["trace"]["printed"][0]["text"] == "left"
        assert not leavers()
    finally:
        recording.close()


def test_a_program_that_exits_is_reported_with_its_exit_code_and_last_line() -> None:
    with pytest.raises(LabError, match=r"exit code 7 .* output: two\.$"):
        child.record(CRASH, strategy="one-device", devices="cpu:1")


def test_a_recording_outlives_the_thread_that_started_it() -> None:
    with ThreadPoolExecutor(1) as pool:
        started = pool.submit(child.start, FINE, strategy="default", devices="cpu:1").result()
    try:
        wait_until(lambda: not started.is_running)
        assert started.result()["trace"]["printed"][0]["text"] == "replicas 1"
    finally:
        started.close()


def test_a_killed_guard_takes_the_program_with_it() -> None:
    recording = child.start(LOOP, strategy="default", devices="cpu:1")
    try:
        wait_until(lambda: bool(psutil.Process(recording.pid).children()))
        program = psutil.Process(recording.pid).children()[0]
        os.kill(recording.pid, signal.SIGKILL)
        wait_until(lambda: not is_living(program.pid))
        with pytest.raises(LabError, match="supervises the recording was killed"):
            recording.result()
    finally:
        recording.close()


def test_a_program_that_stops_its_guard_is_ended() -> None:
    """No limit held any more: it ran on for as long as somebody looked at it."""
    stops = "import os, signal\n" + LOOP.replace(
        "    while", "    os.kill(os.getppid(), signal.SIGSTOP)\n    while"
    )
    recording = child.start(stops, strategy="default", devices="cpu:1")
    guard = psutil.Process(recording.pid)
    try:
        wait_until(lambda: not recording.is_running)
        program = guard.children()[0]
        with pytest.raises(LabError, match=r"was stopped \(SIGSTOP\), so no limit held"):
            recording.result()
    finally:
        recording.close()
    wait_until(lambda: not is_living(program.pid))
    assert not is_living(guard.pid)


def test_a_page_that_is_killed_leaves_neither_processes_nor_folders(tmp_path: Path) -> None:
    page = (
        "import pathlib, sys, time; from strategy_contexts import child;"
        "source = pathlib.Path(sys.argv[1]).read_text();"
        "recording = child.start(source, strategy='default', devices='cpu:1');"
        "print(recording.pid, flush=True); time.sleep(600)"
    )
    source = tmp_path / "program.py"
    source.write_text(LEAVES.replace("{then}", "while True: pass"))
    command = [sys.executable, "-c", page, str(source)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        guard = psutil.Process(int(process.stdout.readline()))
        wait_until(lambda: bool(leavers()))
        process.kill()
    wait_until(lambda: not is_living(guard.pid))


@pytest.mark.parametrize("where", ["subprocess.Popen", "tempfile.mkdtemp"])
def test_a_program_that_the_system_does_not_start_is_refused(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any other error ended the thread by which all pages hear of their recordings."""

    def refuse(*_args: object, **_options: object) -> None:
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr(where, refuse)
    with pytest.raises(LabError, match="cannot be started: Resource temporarily unavailable"):
        child.start(FINE, strategy="default", devices="cpu:1")


def test_an_unknown_strategy_is_refused_before_a_process_starts() -> None:
    with pytest.raises(LabError, match="strategy"):
        child.start(FINE, strategy="nonsense", devices="cpu:2")


def test_a_program_that_is_too_long_is_refused_before_a_process_starts() -> None:
    with pytest.raises(LabError, match="has 300,000 characters, more than"):
        child.start("#" * 300_000, strategy="default", devices="cpu:1")


def test_a_program_of_the_editor_that_is_too_long_starts_nothing() -> None:
    with pytest.raises(LabError, match="more than the"):
        child.start(TEXTS["long"], strategy="mirrored", devices="cpu:2")
