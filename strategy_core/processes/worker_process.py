"""One worker process as its launcher sees it: started, spoken to, listened to, killed.

`Spawner` starts processes from one thread that lives as long as it does: the kernel ends a worker
when the *thread* that started it ends, and threads of a web page end all the time.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from strategy_core.processes import descendants, protocol, reaper
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.namespace_handle import NamespaceHandle
from strategy_core.processes.orphan_cleanup import OrphanCleanup
from strategy_lab.profiles.run.liveness import process_started_ns

Message = dict[str, Any]
WORKER_COMMAND = tuple(module_command("strategy_core.worker.main"))
_TAIL_BYTES = 64_000
_LOOK_EVERY_S = 0.5
_REAPER_S = 15.0
"""So long may a reaper take to end what its worker has left."""
_STARTED_WITHIN_S = 60.0


class WorkerProcess:
    """A child process that speaks the worker protocol. Its methods may be called by any thread."""

    def __init__(
        self, popen: subprocess.Popen[bytes], stderr: BinaryIO, mark: str, pid: int | None = None
    ) -> None:
        self.pid = pid or popen.pid
        """Of the worker itself: `popen` is its reaper where it has one."""
        self.started_ns = process_started_ns(self.pid) or 0
        self.ready: Message | None = None
        """What it said when TensorFlow was imported; None until then."""
        self.said_ready = threading.Event()
        self.peak_bytes: int | None = None
        """Largest resident memory seen by `sample_memory`."""
        self._popen = popen
        self._stderr = stderr
        self._mark = mark
        self._write_lock = threading.Lock()
        self._listener: Callable[[Message], None] | None = None
        self._unheard: list[Message] = []
        self._listen_lock = threading.Lock()
        threading.Thread(target=self._listen, name=f"worker {self.pid}", daemon=True).start()

    def listen(self, listener: Callable[[Message], None]) -> None:
        """Have every message but `ready`, and `{"gone": true}` at the end, from now on."""
        with self._listen_lock:
            self._listener = listener
            unheard, self._unheard = self._unheard, []
        for message in unheard:
            listener(message)

    def send(self, command: protocol.Command) -> bool:
        """Write a command; False where the process is gone."""
        assert self._popen.stdin is not None
        try:
            with self._write_lock:
                self._popen.stdin.write(protocol.command_line(command))
                self._popen.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def kill(self) -> None:
        """SIGKILL to the worker and everything it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._popen.poll() is None:
                os.killpg(self.pid, signal.SIGKILL)

    def poll(self) -> int | None:
        """Exit code, negative for a signal; None while it lives."""
        return self._popen.poll()

    def wait(self, timeout_s: float | None = None) -> int | None:
        """Wait for the end; None where it did not come in time."""
        try:
            return self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None

    def sample_memory(self) -> None:
        with contextlib.suppress(psutil.Error):
            used = psutil.Process(self.pid).memory_info().rss
            self.peak_bytes = max(used, self.peak_bytes or 0)

    def cpu_seconds(self) -> float:
        """Processor time it has used; 0 where it is gone."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def state(self) -> str:
        """What the system says it is doing: `running`, `sleeping`, `stopped`, ..., or `gone`."""
        try:
            return str(psutil.Process(self.pid).status())
        except psutil.Error:
            return "gone"

    def said(self, log: Path | None = None) -> str:
        """The end of what it wrote to stderr: in `log` or, before it had one, to its launcher."""
        text = _tail_of(log) if log else ""
        if not text:
            with contextlib.suppress(OSError, ValueError):
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
        self.said_ready.set()
        self._tell({"gone": True})

    def _lines(self) -> Iterator[bytes]:
        """What the worker writes, until its pipe or the worker ends.

        A child that the user's code forked has a copy of the pipe: its end alone might never come.
        """
        assert self._popen.stdout is not None
        fd, unread = self._popen.stdout.fileno(), b""
        with selectors.DefaultSelector() as selector:
            selector.register(fd, selectors.EVENT_READ)
            while True:
                has_ended = self._popen.poll() is not None
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
        """Wait for the worker and its reaper, for a stopped reaper only so long."""
        looks_left = round(_REAPER_S / _LOOK_EVERY_S)
        while self.wait(_LOOK_EVERY_S) is None:
            if self.state() in ("zombie", "dead", "gone"):
                looks_left -= 1
                if not looks_left:
                    self._popen.kill()

    def _tell(self, message: Message) -> None:
        with self._listen_lock:
            listener = self._listener
            if listener is None:
                self._unheard.append(message)
        if listener is not None:
            listener(message)


class Spawner:
    """Starts worker processes. `nice` is how far they step back behind the page (0: not at all)."""

    def __init__(self, command: Sequence[str] = WORKER_COMMAND, *, nice: int = 0) -> None:
        self._command = [*command, "--nice", str(nice)]
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")
        self._mark = descendants.new_mark()
        self._keeper: OrphanCleanup | None = None
        self._num_spawned = 0

    def spawn(self, entrance: NamespaceHandle | None = None) -> WorkerProcess:
        """A new process, in the network behind `entrance` where one is given."""
        return self._thread.submit(self._spawn, entrance).result()

    def close(self) -> None:
        """End the starting thread. On Linux every process that it started ends with it.

        So does, everywhere, whatever those had started.
        """
        self._thread.shutdown()
        if self._keeper is not None:
            self._keeper.close()

    def _spawn(self, entrance: NamespaceHandle | None) -> WorkerProcess:
        self._keeper = self._keeper or OrphanCleanup(self._mark)
        self._num_spawned += 1
        mark = f"{self._mark}-{self._num_spawned}."
        command = [*self._command, *(entrance.arguments if entrance else [])]
        namespaces = entrance.namespaces if entrance else ()
        if sys.platform == "linux":
            return _start_with_reaper(command, namespaces, mark)
        environment = worker_environment(os.environ) | {descendants.VARIABLE: mark}
        command += ["--parent", str(os.getpid())]
        popen, stderr = _start(command, namespaces, environment)
        return WorkerProcess(popen, stderr, mark)


def _start_with_reaper(
    command: Sequence[str], namespaces: Sequence[int], mark: str
) -> WorkerProcess:
    """Start a worker below a process that ends what it leaves behind; raises OSError."""
    told, tell = os.pipe()
    with os.fdopen(told, "rb", buffering=0) as pid_pipe:
        try:
            # The mark is for the worker alone: whoever ends its family leaves the reaper at work.
            reaped = [str(os.getpid()), str(tell), f"{descendants.VARIABLE}={mark}", *command]
            popen, stderr = _start(
                [sys.executable, "-I", "-S", reaper.__file__, *reaped],
                (tell, *namespaces),
                descendants.without_mark(worker_environment(os.environ)),
            )
        finally:
            os.close(tell)
        with selectors.DefaultSelector() as selector:
            selector.register(pid_pipe, selectors.EVENT_READ)
            answer = pid_pipe.read(32) if selector.select(_STARTED_WITHIN_S) else b""
    if not answer:
        popen.kill()
        raise OSError("its process ended before it began")
    return WorkerProcess(popen, stderr, mark, int(answer))


def _start(
    command: Sequence[str], descriptors: Sequence[int], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], BinaryIO]:
    """A process that can be spoken to, and the file that it writes its errors to."""
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
    popen = subprocess.Popen(
        command,
        pass_fds=descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
        start_new_session=True,  # its own group: Ctrl-C is the launcher's to hear
    )
    return popen, stderr


def worker_environment(inherited: Mapping[str, str]) -> dict[str, str]:
    """Environment variables of a worker; what the user set stays."""
    return {
        "TF_CPP_MIN_LOG_LEVEL": "1",
        "TF_FORCE_GPU_ALLOW_GROWTH": "true",  # a fresh worker opens beside the one it replaces
        "PYTHONUNBUFFERED": "1",
        "PYTHONFAULTHANDLER": "1",
        **with_own_code(inherited),
        "KERAS_BACKEND": "tensorflow",
    }


def _tail_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
