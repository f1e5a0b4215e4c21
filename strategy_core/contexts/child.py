"""Record a program in a process of its own: stopped, timed out or crashed, the caller goes on.

recording = start(source, strategy="mirrored", devices="cpu:4")
while recording.is_running: ...
document = recording.result()
"""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from strategy_core import catalog
from strategy_lab.profiles.errors import LabError
from strategy_lab.profiles.spec import parse_spec

TIME_LIMIT_S = 180.0
"""Counts the start of TensorFlow too, which alone can take a minute where the machine is busy."""
OUTPUT_SHOWN = 2000


@functools.cache
def _starter() -> ThreadPoolExecutor:
    """The thread that starts children, as long-lived as this process.

    The kernel ends a child when the thread that started it ends, and a page's threads do.
    """
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="contexts")


class ContextRecording:
    """A recording under way. Everything of it lies in a folder that `close` removes."""

    def __init__(self, request: dict[str, Any], time_limit_s: float) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="contexts-")
        here = Path(self._folder.name)
        self._out = here / "recording.json"
        self._log = (here / "output.log").open("w+b")
        self._deadline = time.monotonic() + time_limit_s
        self._time_limit_s = time_limit_s
        self._stopped: str | None = None
        self._process = (
            _starter()
            .submit(
                subprocess.Popen,
                [sys.executable, "-m", "strategy_core.contexts", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=self._log,
                stderr=subprocess.STDOUT,
                cwd=here,
                start_new_session=True,
                env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            )
            .result()
        )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request | {"out": str(self._out)}).encode() + b"\n")
        self._process.stdin.flush()

    @property
    def is_running(self) -> bool:
        """Whether it still runs; one past its time limit is stopped here."""
        if self._process.poll() is not None:
            return False
        if time.monotonic() > self._deadline:
            self.stop(f"A program is recorded within {self._time_limit_s:.0f} s")
            return False
        return True

    def stop(self, reason: str = "The recording was stopped") -> None:
        """End the process and all that it started."""
        self._stopped = reason
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def result(self) -> dict[str, Any]:
        """The recording as JSON (see `demonstration.Recording`); raises LabError without one."""
        self._process.wait()
        if self._stopped:
            raise LabError(self._stopped, advice="Mend the program, or make it shorter")
        try:
            document: dict[str, Any] = json.loads(self._out.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise LabError(
                "The program's process ends by itself",
                f"exit code {self._process.returncode}: {self._last_words()}",
            ) from None
        if "refused" in document:
            raise LabError(document["refused"])
        return document

    def close(self) -> None:
        """Nothing of it is left: no process, no folder."""
        self.stop()
        if self._process.stdin:
            self._process.stdin.close()
        self._log.close()
        self._folder.cleanup()

    def _last_words(self) -> str:
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-OUTPUT_SHOWN:].strip()


def start(
    source: str, *, strategy: str, devices: str, time_limit_s: float = TIME_LIMIT_S
) -> ContextRecording:
    """Start recording a program; raises SpecError where strategy or devices are none."""
    spec = parse_spec({"strategy": strategy, "devices": devices, "global_batch_size": 64 * 63})
    catalog.row(spec.strategy)
    request = {"source": source, "spec": spec.to_json()}
    return ContextRecording(request, time_limit_s)


def record(
    source: str,
    *,
    strategy: str,
    devices: str,
    time_limit_s: float = TIME_LIMIT_S,
    wait: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Record a program to its end and return the recording as JSON; raises LabError."""
    recording = start(source, strategy=strategy, devices=devices, time_limit_s=time_limit_s)
    try:
        while recording.is_running:
            wait(0.05)
        return recording.result()
    finally:
        recording.close()
