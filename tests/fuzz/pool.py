"""Cases in several processes, each under a watchdog: what hangs or dies is a fault, too."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.fuzz.case import OWN_CHANGE

HANG_CPU_S = 10.0
HANG_WALL_S = 60.0
"""Without the time in which the process waited for a processor: a busy machine may hold it up."""
MAX_BYTES = 2 << 30
_LOOK_EVERY_S = 0.5
Message = dict[str, Any]


@dataclass(slots=True)
class _Share:
    """One process's share of the cases: first, first + stride, ..."""

    next_case: int
    last_case: int
    stride: int


class Pool:
    """Runs cases `first` to `last`, exclusive; `results` yields each as a JSON mapping."""

    def __init__(
        self, seed: int, first: int, last: int, processes: int, runs: Path, scratch: Path
    ) -> None:
        self._seed, self._runs, self._scratch = seed, runs, scratch
        self._shares = [_Share(first + i, last, processes) for i in range(processes)]
        self._messages: queue.Queue[Message | None] = queue.Queue()
        self._workers: dict[int, _Worker] = {}

    def results(self) -> Iterator[Message]:
        """Every case once, in the order in which they end."""
        threads = [
            threading.Thread(target=self._drive, args=(number, share), daemon=True)
            for number, share in enumerate(self._shares)
        ]
        for thread in threads:
            thread.start()
        left = len(threads)
        while left:
            message = self._messages.get()
            if message is None:
                left -= 1
            else:
                yield message

    def stop(self) -> None:
        """End the processes."""
        for share in self._shares:
            share.next_case = share.last_case
        for worker in self._workers.values():
            worker.kill()

    def _drive(self, number: int, share: _Share) -> None:
        """Start the share's process, and a new one after each case that ended it."""
        while share.next_case < share.last_case:
            worker = self._workers[number] = _Worker(self._command(number, share))
            fault = worker.watch(self._take(share))
            if fault is not None:
                case = {"seed": self._seed, "number": share.next_case, "made": worker.made}
                self._messages.put(case | {"faults": [fault], "outcomes": {}})
                share.next_case += share.stride
        self._messages.put(None)

    def _take(self, share: _Share) -> Any:
        def take(result: Message) -> None:
            self._messages.put(result)
            share.next_case = result["number"] + share.stride

        return take

    def _command(self, number: int, share: _Share) -> list[str]:
        options = {
            "--worker-of": share.stride,
            "--seed": self._seed,
            "--first": share.next_case,
            "--cases": share.last_case - share.next_case,
            "--runs": self._runs,
            "--scratch": self._scratch / str(number),
        }
        texts = [str(part) for pair in options.items() for part in pair]
        return [sys.executable, "-m", "tests.fuzz", *texts]


class _Worker:
    """A process that does cases one after the other and says what it begins and ends."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.made: list[str] = []
        self._target = "start"
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def kill(self) -> None:
        self._process.kill()

    def watch(self, take: Any) -> Message | None:
        """Hand each result to `take` until the process ends.

        Return None after its last case, otherwise the fault that ended it. A process that takes
        too long is killed; time in which the machine kept it waiting does not count.
        """
        began, cpu, held_up = time.monotonic(), self._cpu_s(), self._held_up_s()
        while True:
            try:
                line = self._lines.get(timeout=_LOOK_EVERY_S)
            except queue.Empty:
                wall_s = time.monotonic() - began - (self._held_up_s() - held_up)
                reason = self._reason(wall_s, self._cpu_s() - cpu)
                if reason is not None:
                    return self._end(*reason)
                continue
            if line is None:
                return self._ended()
            message = json.loads(line)
            began, cpu, held_up = time.monotonic(), self._cpu_s(), self._held_up_s()
            if "target" in message:
                self._target = message["target"]
            else:
                take(message)

    def _cpu_s(self) -> float:
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def _held_up_s(self) -> float:
        """How long the process has waited for a processor; 0 where the system does not say."""
        try:
            return int(Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError, ValueError):
            return 0.0

    def _reason(self, wall_s: float, cpu_s: float) -> tuple[str, str] | None:
        try:
            memory = psutil.Process(self._process.pid).memory_info().rss
        except psutil.Error:
            return None
        if memory > MAX_BYTES:
            return "memory", f"{memory / 1e9:.1f} GB after {wall_s:.1f} s"
        is_limited = self._target not in ("start", OWN_CHANGE)  # no reader has begun
        if is_limited and (cpu_s > HANG_CPU_S or wall_s > HANG_WALL_S):
            return "hang", f"{wall_s:.1f} s, of which {cpu_s:.1f} s computing"
        return None

    def _end(self, kind: str, text: str) -> Message:
        self._process.kill()
        self._process.wait()
        return {"target": self._target, "kind": kind, "text": text}

    def _ended(self) -> Message | None:
        code = self._process.wait()
        assert self._process.stderr is not None
        said = self._process.stderr.read()[-2000:]
        if code == 0:
            return None
        return {"target": self._target, "kind": "death", "text": f"exit code {code}: {said}"}
