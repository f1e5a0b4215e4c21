"""One worker process as its launcher sees it: started, spoken to, listened to, killed.

`Spawner` starts processes from one thread that lives as long as it does: the kernel ends a worker
when the *thread* that started it ends, and threads of a web page end all the time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import psutil

from strategy_core.processes import family, protocol
from strategy_core.processes.entrance import Entrance
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.keeper import Keeper
from strategy_lab.profiles.liveness import process_started_ns

Message = dict[str, Any]
WORKER_COMMAND = tuple(module_command("strategy_core.worker"))
_TAIL_BYTES = 64_000


class WorkerProcess:
    """A child process that speaks the worker protocol. Its methods may be called by any thread."""

    def __init__(self, popen: subprocess.Popen[bytes], stderr: BinaryIO, mark: str) -> None:
        self.pid = popen.pid
        self.started_ns = process_started_ns(popen.pid) or 0
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
        assert self._popen.stdout is not None
        for line in self._popen.stdout:
            message = protocol.parse_line(line)
            if message.get("ready"):
                self.ready = message
                self.said_ready.set()
            elif message:
                self._tell(message)
        self._popen.wait()
        family.end_family(self._mark)
        self.said_ready.set()
        self._tell({"gone": True})

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
        self._command = [*command, "--parent", str(os.getpid()), "--nice", str(nice)]
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")
        self._mark = family.new_mark()
        self._keeper: Keeper | None = None
        self._num_spawned = 0

    def spawn(self, entrance: Entrance | None = None) -> WorkerProcess:
        """A new process, in the network behind `entrance` where one is given."""
        return self._thread.submit(self._spawn, entrance).result()

    def close(self) -> None:
        """End the starting thread. On Linux every process that it started ends with it.

        So does, everywhere, whatever those had started.
        """
        self._thread.shutdown()
        if self._keeper is not None:
            self._keeper.close()

    def _spawn(self, entrance: Entrance | None) -> WorkerProcess:
        self._keeper = self._keeper or Keeper(self._mark)
        self._num_spawned += 1
        mark = f"{self._mark}-{self._num_spawned}."
        stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        popen = subprocess.Popen(
            [*self._command, *(entrance.arguments if entrance else [])],
            pass_fds=entrance.namespaces if entrance else (),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=worker_environment(os.environ) | {family.VARIABLE: mark},
            start_new_session=True,  # its own group: Ctrl-C is the launcher's to hear
        )
        return WorkerProcess(popen, stderr, mark)


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
