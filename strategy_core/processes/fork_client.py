"""The launcher's end of a fork server: starts it, and asks it for workers (Linux)."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, BinaryIO, Literal

from strategy_core.processes import descendants, fork_server
from strategy_core.processes.import_path import module_command

_STARTED_WITHIN_S = 60.0
_CLOSING_S = 5.0
_LOOK_EVERY_S = 0.5


class ForkedProcess:
    """The reaper of a forked worker, with the methods of `subprocess.Popen` that are used.

    It is no child of this process, so its end is that of a pipe that it alone holds open.
    """

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes], end_pipe: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self._end_pipe = end_pipe
        self._said = b""
        self._code: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Exit code of the worker, negative for a signal; None while the reaper runs."""
        with self._lock:
            while self._code is None and _has_something(self._end_pipe, 0.0):
                data = os.read(self._end_pipe, 64)
                self._said += data
                if not data:
                    os.close(self._end_pipe)
                    self._code = int(self._said) if self._said else -signal.SIGKILL
            return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end; raises subprocess.TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left_s = None if deadline is None else deadline - time.monotonic()
            if left_s is not None and left_s <= 0:
                raise subprocess.TimeoutExpired("a forked worker", timeout or 0.0)
            # Another thread may see the end, and close the pipe: this one looks again soon.
            _has_something(
                self._end_pipe, _LOOK_EVERY_S if left_s is None else min(left_s, _LOOK_EVERY_S)
            )
        return code

    def kill(self) -> None:
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class ForkClient:
    """A fork server and the connection to it.

    Created by the thread that is to be its parent (see `parent_death`). Then `on_end_of_import` is
    called once, in another thread: the server takes requests, or could not import the module.
    """

    def __init__(
        self,
        module: str,
        environment: Mapping[str, str],
        on_end_of_import: Callable[[], None],
    ) -> None:
        self.own_environment = dict(environment)
        """That of the import."""
        self.state: Literal["importing", "ready", "gone"] = "importing"
        """`gone`: closed, or the import failed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._connection = ours
        with theirs:
            command = module_command("strategy_core.processes.fork_server")
            number = str(theirs.fileno())
            self._process = subprocess.Popen(
                [*command, "--parent", str(os.getpid()), "--socket", number, module],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # The system shows this environment of each fork, too. With a mark in it, a reaper
                # would be killed with the marked processes, before it has ended what is below it.
                env=descendants.without_mark(environment),
                start_new_session=True,
            )
        self.has_imported = threading.Event()
        """Set at the end of the import, however that ended."""
        self._on_end_of_import = on_end_of_import
        threading.Thread(target=self._await_import, name="fork server", daemon=True).start()

    def fork(
        self, arguments: Sequence[str], namespaces: Sequence[int], environment: Mapping[str, str]
    ) -> tuple[ForkedProcess, BinaryIO, int]:
        """Return a worker's reaper, the file that has its stderr, and its process id.

        Raises OSError if the server has ended or the request is too long for a message.
        """
        request = {
            "arguments": list(arguments),
            "environment": dict(environment),
            "folder": os.getcwd(),  # noqa: PTH109
        }
        stdin, commands = os.pipe()
        messages, stdout = os.pipe()
        pid_pipe, pid_end = os.pipe()
        end_pipe, end_end = os.pipe()
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        passed = [stdin, stdout, pid_end, end_end]
        kept = [commands, messages, end_pipe]
        try:
            descriptors = [stdin, stdout, stderr.fileno(), pid_end, end_end, *namespaces]
            socket.send_fds(self._connection, [json.dumps(request).encode()], descriptors)
        except OSError:
            _close([*passed, *kept, pid_pipe])
            raise
        _close(passed)
        worker, reaper = _line(pid_pipe), _line(end_pipe)
        os.close(pid_pipe)
        if not worker or not reaper:
            _close(kept)
            raise OSError("its process ended before it began")
        child = ForkedProcess(
            int(reaper), os.fdopen(commands, "wb"), os.fdopen(messages, "rb"), end_pipe
        )
        return child, stderr, int(worker)

    def close(self) -> None:
        """End the server, its reapers and their workers."""
        self.state = "gone"
        self._connection.close()
        self._process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING_S)

    def is_ready(self) -> bool:
        return self.state == "ready" and self._process.poll() is None

    def has_died(self) -> bool:
        """Whether it has ended after it was ready: another one may do better."""
        return self.state == "ready" and self._process.poll() is not None

    def _await_import(self) -> None:
        with contextlib.suppress(OSError):
            is_ready = self._connection.recv(64) == fork_server.READY
            if self.state == "importing":
                self.state = "ready" if is_ready else "gone"
        self.has_imported.set()
        self._on_end_of_import()


def _line(pipe: int) -> bytes:
    """Read a line that is to come, a byte at a time: what follows it stays in the pipe."""
    line, deadline = b"", time.monotonic() + _STARTED_WITHIN_S
    while not line.endswith(b"\n"):
        if not _has_something(pipe, deadline - time.monotonic()):
            return b""
        byte = os.read(pipe, 1)
        if not byte:
            return b""
        line += byte
    return line


def _has_something(pipe: int, timeout_s: float) -> bool:
    """Wait until a pipe has data or has ended; returns whether it does."""
    looked = select.poll()  # `select` takes no descriptor above 1023
    looked.register(pipe, select.POLLIN)
    return bool(looked.poll(max(0.0, timeout_s) * 1000))


def _close(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
