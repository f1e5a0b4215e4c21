"""Starts worker processes, each in a session of its own and on Linux below a reaper."""

from __future__ import annotations

import os
import selectors
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from strategy_core.processes import descendants, reaper
from strategy_core.processes.fork_client import ForkClient
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_core.processes.orphan_cleanup import OrphanCleanup
from strategy_core.processes.worker_process import WorkerProcess

WORKER_COMMAND = tuple(module_command("strategy_core.worker.main"))
_STARTED_WITHIN_S = 60.0


class Spawner:
    """Starts worker processes from one thread that runs as long as the spawner exists.

    PR_SET_PDEATHSIG ends a child when the *thread* that started it ends. Starting a worker from the
    thread that asks for it was tried: a thread of a web page ends with its request, and the kernel
    then killed a worker in the middle of its run. A thread per worker would do, too, but each would
    have to wait for its worker.

    `nice` lowers the priority of the workers (0: not at all).
    """

    def __init__(self, command: Sequence[str] = WORKER_COMMAND, *, nice: int = 0) -> None:
        self._command = [*command, "--nice", str(nice)]
        self._module = _module_of(command) if sys.platform == "linux" else None
        """What a fork server imports; None: workers are executed."""
        self._forks: ForkClient | None = None
        self._silent_forks: list[ForkClient] = []
        """Fork servers that fell silent, with workers that would end with them."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawner")
        self._mark = descendants.new_mark()
        self._cleanup: OrphanCleanup | None = None
        self._num_spawned = 0

    def spawn(self, namespaces: Sequence[int] = ()) -> WorkerProcess:
        """A new process, which enters the namespaces with these open descriptors."""
        return self._thread.submit(self._spawn, namespaces).result()

    def prepare_forks(self, on_end_of_import: Callable[[], None] = lambda: None) -> bool:
        """Start a process from which later workers are forked, without an import of their own.

        Returns whether it imports TensorFlow now. If this call started it, `on_end_of_import` is
        called at the end of the import, in another thread.
        """
        return self._thread.submit(self._prepare_forks, on_end_of_import).result()

    def wait_for_forks(self, timeout_s: float) -> None:
        """Wait for the end of that import, if there is one."""
        if self._forks is not None:
            self._forks.has_imported.wait(timeout_s)

    def close(self) -> None:
        """End every process that was started, and its descendants.

        On Linux the end of the starting thread does it: the kernel signals the reapers
        (PR_SET_PDEATHSIG), which end what is below them. On every system `OrphanCleanup` ends all
        processes that carry this spawner's mark.
        """
        self._thread.shutdown()
        for forks in filter(None, (self._forks, *self._silent_forks)):
            forks.close()
        if self._cleanup is not None:
            self._cleanup.close()

    def _spawn(self, namespaces: Sequence[int]) -> WorkerProcess:
        self._cleanup = self._cleanup or OrphanCleanup(self._mark)
        self._num_spawned += 1
        mark = f"{self._mark}-{self._num_spawned}_"
        worker = self._forked(namespaces, mark) or self._executed(namespaces, mark)
        if self._forks is not None:
            worker.start_note = self._forks.take_note()
        self._end_silent_forks()
        return worker

    def _executed(self, namespaces: Sequence[int], mark: str) -> WorkerProcess:
        command = [*self._command, *enter_arguments(namespaces)]
        if sys.platform == "linux":
            return _start_with_reaper(command, namespaces, mark)
        environment = worker_environment(os.environ) | {descendants.VARIABLE: mark}
        command += ["--parent", str(os.getpid())]
        popen, stderr = _start(command, namespaces, environment)
        return WorkerProcess(popen, stderr, mark)

    def _forked(self, namespaces: Sequence[int], mark: str) -> WorkerProcess | None:
        """A worker forked from the fork server; None if it must be executed."""
        forks, environment = self._forks, worker_environment(os.environ)
        # Some variables count only while TensorFlow is imported.
        if forks is None or not forks.is_ready() or forks.own_environment != environment:
            return None
        arguments = self._command[len(WORKER_COMMAND) :]  # those after the module
        try:
            marked = environment | {descendants.VARIABLE: mark}
            child, stderr, pid = forks.fork(arguments, namespaces, marked)
        except OSError:
            return None
        return WorkerProcess(child, stderr, mark, pid)

    def _prepare_forks(self, on_end_of_import: Callable[[], None]) -> bool:
        """Do what `prepare_forks` says: start a fork server, unless there is one to keep."""
        if self._module is None:
            return False
        forks = self._forks
        if forks is None or forks.may_be_replaced():
            if forks is not None:
                self._silent_forks.append(forks)
                self._end_silent_forks()
            environment = worker_environment(os.environ)
            self._forks = forks = ForkClient(self._module, environment, on_end_of_import)
        return forks.state == "importing"

    def _end_silent_forks(self) -> None:
        """End replaced fork servers once they take no worker along."""
        ended = [each for each in self._silent_forks if not each.has_living_forks()]
        for forks in ended:
            self._silent_forks.remove(forks)
            forks.close()


def enter_arguments(namespaces: Sequence[int]) -> list[str]:
    """Command-line arguments of a worker that inherits these descriptors and enters them."""
    return ["--enter", ",".join(map(str, namespaces))] if namespaces else []


def _module_of(command: Sequence[str]) -> str | None:
    """The module that a command executes; None if it executes something else."""
    return command[-1] if list(command) == module_command(command[-1]) else None


def _start_with_reaper(
    command: Sequence[str], namespaces: Sequence[int], mark: str
) -> WorkerProcess:
    """Start a worker below its reaper, which tells the worker's process id; raises OSError."""
    read_end, write_end = os.pipe()
    # Unbuffered: the selector sees only what is in the pipe, not what a buffer holds.
    with os.fdopen(read_end, "rb", buffering=0) as pid_pipe:
        try:
            # Only the worker carries the mark, so that ending its descendants by it spares the
            # reaper.
            reaped = [str(os.getpid()), str(write_end), f"{descendants.VARIABLE}={mark}", *command]
            popen, stderr = _start(
                [sys.executable, "-I", "-S", reaper.__file__, *reaped],
                (write_end, *namespaces),
                descendants.without_mark(worker_environment(os.environ)),
            )
        finally:
            os.close(write_end)  # with this copy open, the pipe would not end if the reaper does
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
    """A process with pipes to its stdin and stdout, and the file that has its stderr."""
    # A file and no pipe: a pipe that is not read blocks the worker once 64 kB are in it.
    stderr = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
    popen = subprocess.Popen(
        command,
        pass_fds=descriptors,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
        start_new_session=True,  # Ctrl-C reaches the launcher alone
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
