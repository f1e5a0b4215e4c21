"""A server of the lab in a process of its own, as tests and benchmarks start and end it."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from strategy_app.server.asgi_app import free_port
from strategy_core.processes.import_path import module_command, with_own_code
from tests import lab_access
from tests.timeouts import MAX_WAIT_S


@dataclass(frozen=True)
class ServerProcess:
    """A server that answers."""

    pid: int
    port: int
    log: Path
    """What it printed."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def server_process(
    log: Path,
    *arguments: str,
    module: str = "strategy_app",
    port_option: str = "--port",
    program: Sequence[str] = (),
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = MAX_WAIT_S,
    port: int = 0,
) -> Iterator[ServerProcess]:
    """Start `python -m module --port N`, wait until it answers, and end it as a user would.

    A `program` is started in place of Python and the module; `folder` is its current folder;
    without a `port` it takes a free one.

    Without an `environment` its token is that of `lab_access`. On Linux the server also ends if
    this program, or the thread that starts it, is killed.
    """
    port = free_port("127.0.0.1", port)
    command = [*(program or module_command(module)), port_option, str(port), *arguments]
    inherited = lab_access.environment() if environment is None else environment
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(inherited) if program else with_own_code(inherited),
            cwd=folder,
            start_new_session=True,
            # Unsafe where it takes locks; this is two system calls.
            preexec_fn=_end_with_parent(),  # noqa: PLW1509
        )
    server = ServerProcess(process.pid, port, log)
    try:
        _wait_until_it_answers(process, server, timeout_s)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _end_with_parent() -> Callable[[], None] | None:
    """Return a function for a new child, which then ends when this process does; None off Linux.

    `parent_death.tie_to` ends a process by SIGKILL. A server needs SIGTERM: it ends its workers.
    """
    if sys.platform != "linux":
        return None
    libc, parent = ctypes.CDLL(None), os.getpid()  # loading it in the child could block

    def tie() -> None:
        libc.prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    return tie


def _wait_until_it_answers(
    process: subprocess.Popen[bytes], server: ServerProcess, timeout_s: float
) -> None:
    """Any answer counts: a lab with another token refuses this request."""
    request = urllib.request.Request(f"{server.url}/_stcore/health", headers=lab_access.HEADERS)
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=2):
                return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{server.log.read_text()}")
