"""The launcher's end of one worker process, with a small program in the worker's place."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
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
