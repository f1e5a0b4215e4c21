"""Hands captures to the helper process, and collects its answers without ever waiting for it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from strategy_core.processes.family import without_mark
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_lab.profiles.capture.helper import Job

Answer = dict[str, Any]


_spare: list[subprocess.Popen[bytes]] = []
"""A helper that waits for the first converter of this process."""


def prepare() -> None:
    """Start a helper before there is anything to train, so that its imports cost no run a core."""
    if not _spare:
        _spare.append(_start())


class Converter:
    """One helper process, there with the first job at the latest; jobs are answered in order."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[Job] = []
        self._unread = b""
        self._was_ready = False
        self._import_ms = 0.0
        self._now_s = now_s

    @property
    def num_waiting(self) -> int:
        return len(self._waiting)

    def warm_up(self) -> None:
        """Have a helper: the one that waits, or a new one that imports beside the training."""
        if self._process is None:
            spare = _take_spare()
            self._was_ready = spare is not None
            self._process = spare or _start()

    def take_import_ms(self) -> float:
        """Processor time that the helper has used before its first job, beside the training; 0
        where it was told before, or a helper was there already."""
        took_ms, self._import_ms = self._import_ms, 0.0
        return 0.0 if self._was_ready else took_ms

    def submit(self, job: Job) -> None:
        self.warm_up()
        self._waiting.append(job)
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(asdict(job)).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it died: `answers` tells of the jobs that it took along

    def answers(self) -> list[Answer]:
        """The answers that are there; a helper that died answers all its jobs with an error."""
        if not self._waiting or self._process is None:
            return []
        assert self._process.stdout is not None
        ended = False
        while True:
            try:
                data = os.read(self._process.stdout.fileno(), 1 << 16)
            except BlockingIOError:
                break
            if not data:
                ended = True
                break
            self._unread += data
        *lines, self._unread = self._unread.split(b"\n")
        found: list[Answer] = [json.loads(line) for line in lines]
        self._import_ms += sum(answer.pop("import_ms", 0.0) for answer in found)
        del self._waiting[: len(found)]
        if ended:
            message = "The converting process ended early; the raw capture is kept"
            found += [{"number": job.number, "error": message} for job in self._waiting]
            self._waiting.clear()
            self.close()
        return found

    def finish(self, timeout_s: float) -> list[Answer]:
        """Wait for all jobs, at most so long; those not done by then are answered as such."""
        found, deadline = self.answers(), self._now_s() + timeout_s
        while self._waiting and self._now_s() < deadline:
            time.sleep(0.005)
            found += self.answers()
        message = f"Not converted within {timeout_s:g} s; the raw capture is kept"
        found += [{"number": job.number, "error": message} for job in self._waiting]
        self._waiting.clear()
        return found

    def close(self) -> None:
        """End the helper."""
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            process.kill()
            process.wait()


def _take_spare() -> subprocess.Popen[bytes] | None:
    spare = _spare.pop() if _spare else None
    return spare if spare is not None and spare.poll() is None else None


def _start() -> subprocess.Popen[bytes]:
    # It ends with its stdin, and may finish its last window first.
    process = subprocess.Popen(
        module_command("strategy_lab.profiles.capture.helper"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=with_own_code(without_mark(os.environ)),
    )
    assert process.stdout is not None
    os.set_blocking(process.stdout.fileno(), False)
    return process
