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

_FORKED_WITHIN_S = 5.0
"""A fork takes 0.1 s, at a load of 10 on two cores, too. A worker that is executed imports
TensorFlow for 5 s: who waits longer for a fork would have been faster without it."""
_IMPORTED_WITHIN_S = 120.0
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
        self.state: Literal["importing", "ready", "gone", "silent"] = "importing"
        """`gone`: closed, or the import failed; `silent`: it did not answer, and is not asked
        again."""
        self._forked: list[ForkedProcess] = []
        self._note: str | None = None
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

        Raises OSError if the server has ended, does not answer (it is stopped, say), or the request
        is too long for a message. One that does not answer is `silent` from then on.
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
            message = json.dumps(request).encode()
            socket.send_fds(self._connection, [message], descriptors, socket.MSG_DONTWAIT)
        except OSError:
            _close([*passed, *kept, pid_pipe])
            raise
        _close(passed)
        deadline = time.monotonic() + _FORKED_WITHIN_S
        try:
            worker, reaper = _line(pid_pipe, deadline), _line(end_pipe, deadline)
        except OSError as error:
            _close(kept)  # a fork that comes later finds its pipes closed, and ends
            if isinstance(error, TimeoutError):
                self._fall_silent()
            raise
        finally:
            os.close(pid_pipe)
        child = ForkedProcess(
            int(reaper), os.fdopen(commands, "wb"), os.fdopen(messages, "rb"), end_pipe
        )
        self._forked = [each for each in self._forked if each.poll() is None] + [child]
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

    def may_be_replaced(self) -> bool:
        """Whether it was ready, and then ended or fell silent: another one may do better."""
        has_died = self.state == "ready" and self._process.poll() is not None
        return has_died or self.state == "silent"

    def has_living_forks(self) -> bool:
        """Whether a reaper that was forked from it runs, which would end with it."""
        return any(each.poll() is None for each in self._forked)

    def take_note(self) -> str | None:
        """Why it fell silent, for users; None if it did not, and from the second call on."""
        note, self._note = self._note, None
        return note

    def _fall_silent(self) -> None:
        self.state = "silent"
        self._note = (
            "The process from which workers are forked did not answer within "
            f"{_FORKED_WITHIN_S:g} s. This worker was started without it, and had to import "
            "TensorFlow. Another process takes its place."
        )

    def _await_import(self) -> None:
        with contextlib.suppress(OSError):
            is_over = _has_something(self._connection.fileno(), _IMPORTED_WITHIN_S)
            is_ready = is_over and self._connection.recv(64) == fork_server.READY
            if self.state == "importing":
                self.state = "ready" if is_ready else "gone"
        if self.state == "gone":
            self._process.kill()  # it has forked nothing yet
        self.has_imported.set()
        self._on_end_of_import()


def _line(pipe: int, deadline: float) -> bytes:
    """Read a line that is to come, a byte at a time: what follows it stays in the pipe.

    Raises TimeoutError if it does not come in time, OSError if the pipe ends before.
    """
    line = b""
    while not line.endswith(b"\n"):
        if not _has_something(pipe, deadline - time.monotonic()):
            raise TimeoutError("the fork server does not answer")
        byte = os.read(pipe, 1)
        if not byte:
            raise OSError("its process ended before it began")
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
