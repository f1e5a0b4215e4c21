"""The launcher's end of one worker process, with a small program in the worker's place."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from strategy_core.processes.descendants import new_mark
from strategy_core.processes.protocol import Leave
from strategy_core.processes.worker_process import WorkerProcess
from tests.timeouts import MAX_WAIT_S, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the pipe is read by `select`")

PROGRAM = """
import sys
print('{"n": 1}\\n{"n": 2}\\n{"ready": true}', flush=True)
sys.stdin.readline()
print('{"n": 3}', flush=True)
"""


def test_messages_from_before_a_listener_come_before_newer_ones() -> None:
    """The worker goes on sending while the launcher still receives its first messages."""
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
    popen = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        start_new_session=True,
    )
    process = WorkerProcess(popen, stderr, new_mark())
    (reader,) = [each for each in threading.enumerate() if each.name == f"worker {popen.pid}"]
    received: list[Any] = []

    def listener(message: dict[str, Any]) -> None:
        received.append(message.get("n", "gone"))
        if received == [1]:
            assert process.send(Leave(0))
            # Until the thread that reads the pipe has read all that there will be.
            reader.join(MAX_WAIT_S)

    assert process.said_ready.wait(MAX_WAIT_S)
    process.listen(listener)
    wait_until(lambda: "gone" in received)
    assert received == [1, 2, 3, "gone"]


WRITES_A_FILE_AND_IS_KILLED = """
import os, signal, sys, tempfile
with tempfile.NamedTemporaryFile(prefix=sys.argv[1], delete=False):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_temporary_files_of_a_killed_worker_are_removed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
    launcher = new_mark()
    of_another = tmp_path / f"file{launcher}-10_.py"
    of_another.touch()
    bytecode = tmp_path / "__pycache__" / f"file{launcher}-1_.pyc"
    bytecode.parent.mkdir()
    bytecode.touch()
    popen = subprocess.Popen(
        [sys.executable, "-c", WRITES_A_FILE_AND_IS_KILLED, f"file{launcher}-1_"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        start_new_session=True,
    )
    process = WorkerProcess(popen, stderr, f"{launcher}-1_")
    has_ended = threading.Event()
    process.listen(lambda message: has_ended.set() if message.get("gone") else None)
    assert has_ended.wait(MAX_WAIT_S)
    assert process.poll() == -signal.SIGKILL
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [of_another]
