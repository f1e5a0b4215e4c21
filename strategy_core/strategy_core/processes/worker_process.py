"""One worker process as its launcher uses it: commands, messages, samples, SIGKILL."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from strategy_core.processes import descendants, protocol
from strategy_core.processes.descendants import remove_marked_files
from strategy_core.processes.fork_client import ForkedProcess
from strategy_profiles.guards import open_file
from strategy_profiles.run.liveness import process_started_ns

Message = dict[str, Any]
_TAIL_BYTES = 64_000
_LOOK_EVERY_S = 0.5
_REAPER_S = 15.0
"""Limit for a reaper to end what its worker has left."""


Child = subprocess.Popen[bytes] | ForkedProcess


class WorkerProcess:
    """A child process that speaks the worker protocol. Safe to use from many threads."""

    def __init__(self, child: Child, stderr: BinaryIO, mark: str, pid: int | None = None) -> None:
        self.pid = pid or child.pid
        """Process id of the worker; `child` is its reaper if it has one."""
        self.started_ns = process_started_ns(self.pid) or 0
        self.ready: Message | None = None
        """The message that TensorFlow is imported; None until it comes."""
        self.said_ready = threading.Event()
        self.peak_bytes: int | None = None
        """Largest resident memory seen by `sample_memory`."""
        self.start_note: str | None = None
        """What users should know about its start."""
        self._child = child
        self._stderr = stderr
        self._mark = mark
        self._write_lock = threading.Lock()
        self._listener: Callable[[Message], None] | None = None
        self._undelivered: list[Message] = []
        self._listen_lock = threading.Lock()
        threading.Thread(target=self._listen, name=f"worker {self.pid}", daemon=True).start()

    def listen(self, listener: Callable[[Message], None]) -> None:
        """Call `listener` with each message except `ready`, and `{"gone": true}` at the end.

        Messages that came before this call are delivered first, by this thread.
        """
        while True:
            with self._listen_lock:
                undelivered, self._undelivered = self._undelivered, []
                if not undelivered:
                    self._listener = listener
                    return
            # Not under the lock: the listener takes locks of its own. Not with the listener set
            # already: the reading thread would deliver a newer message before these.
            for message in undelivered:
                listener(message)

    def send(self, command: protocol.Command) -> bool:
        """Write a command; False if the process has ended."""
        assert self._child.stdin is not None
        try:
            with self._write_lock:
                self._child.stdin.write(protocol.command_line(command))
                self._child.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def kill(self) -> None:
        """SIGKILL to the worker and everything it started.

        SIGTERM first does not work: under MultiWorkerMirroredStrategy a native handler of
        TensorFlow swallows it, and the worker went on for 2,000 steps. Under MirroredStrategy it
        ends the worker. A worker is asked to stop by a command instead.
        """
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # Once the worker's parent has ended, the id may be that of another process.
            if self._child.poll() is None:
                os.killpg(self.pid, signal.SIGKILL)

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None while the process runs."""
        return self._child.poll()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end; returns the exit code, None if the time is over before."""
        try:
            return self._child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def sample_memory(self) -> None:
        with contextlib.suppress(psutil.Error):
            used = psutil.Process(self.pid).memory_info().rss
            self.peak_bytes = max(used, self.peak_bytes or 0)

    def cpu_seconds(self) -> float:
        """Processor time it has used; 0 if it has ended."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def state(self) -> str:
        """State of the process in the operating system: `running`, `stopped`, ..., or `gone`."""
        try:
            return str(psutil.Process(self.pid).status())
        except psutil.Error:
            return "gone"

    def stderr_tail(self, log: Path | None = None) -> str:
        """Return at most the last `_TAIL_BYTES` bytes that the worker wrote to stderr.

        A worker that has its run redirects stderr to `log` in the run folder. What it wrote before,
        or if that file is missing or empty, is in the temporary file that it was started with.
        """
        text = _tail_of(log) if log else ""
        if not text:
            with contextlib.suppress(OSError, ValueError):  # ValueError: the file is closed
                size = self._stderr.seek(0, os.SEEK_END)
                self._stderr.seek(max(0, size - _TAIL_BYTES))
                text = self._stderr.read().decode(errors="replace")
        return text

    def _listen(self) -> None:
        for line in self._lines():
            message = protocol.parse_line(line)
            if message.get("ready"):
                self.ready = message
                self.said_ready.set()
            elif message:
                self._tell(message)
        self._wait_for_end()
        descendants.end_descendants(self._mark)
        remove_marked_files(self._mark)
        self.said_ready.set()  # wakes who waits for a worker that has ended before it was ready
        self._tell({"gone": True})

    def _lines(self) -> Iterator[bytes]:
        """Lines of the worker's pipe, until the pipe or the worker ends.

        Reading until the end of the pipe is not enough: a child that the user's code forked holds
        a copy of it, so the end would come only with that child.
        """
        assert self._child.stdout is not None
        fd, unread = self._child.stdout.fileno(), b""
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while True:
                has_ended = self._child.poll() is not None
                if not selector.select(0 if has_ended else _LOOK_EVERY_S):
                    if has_ended:
                        return
                    continue
                data = os.read(fd, 1 << 16)
                if not data:
                    return
                *lines, unread = (unread + data).split(b"\n")
                yield from lines

    def _wait_for_end(self) -> None:
        """Wait for the worker and its reaper; a reaper that is stopped (SIGSTOP) is killed."""
        looks_left = round(_REAPER_S / _LOOK_EVERY_S)
        while self.wait(_LOOK_EVERY_S) is None:
            if self.state() in ("zombie", "dead", "gone"):
                looks_left -= 1
                if not looks_left:
                    self._child.kill()

    def _tell(self, message: Message) -> None:
        with self._listen_lock:
            listener = self._listener
            if listener is None:
                self._undelivered.append(message)
        if listener is not None:
            listener(message)


def _tail_of(path: Path) -> str:
    try:
        with open_file(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
