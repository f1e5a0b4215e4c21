"""A process that has imported what a worker needs, and from which workers are forked (Linux).

    python -P -m strategy_core.processes.fork_server --parent PID --socket FD MODULE

Imports MODULE and calls its `prepare()`, which imports TensorFlow: 5 s of processor time. A worker
that is forked from here needs none of it, and shares the memory of the imports. MODULE's `main` is
called in the worker as if MODULE had been executed.

No worker may inherit the state of a thread: this process starts neither TensorFlow's runtime nor a
thread. The libraries that it imports start two, and handle a fork themselves (OpenBLAS, jemalloc).

Each worker has a reaper of its own, as one that is executed has (`reaper`), forked from here too.
The reapers end with this process, and this process with its launcher. It is a child subreaper: if a
reaper is killed, what its worker had started comes here and is killed.

A request is one message on the socket, with these descriptors: the worker's stdin, stdout and
stderr; the pipe for its process id; the pipe for its reaper, which writes its own id and, at the
end, the worker's exit code; namespaces that the worker enters.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import socket
import sys
import traceback
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any, NoReturn

import psutil

from strategy_core.processes import parent_death, reaper

MOST_DESCRIPTORS = 16
MOST_BYTES = 1 << 20
READY = b"ready"
"""What this process sends once it takes requests."""
NUM_OWN = 5
"""Descriptors of a request before the namespaces."""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    args = _arguments(argv)
    parent_death.tie_to(args.parent)
    # It ends with its launcher alone. What ends a job may signal each of its processes.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    module = importlib.import_module(args.module)
    module.prepare()
    reaper.adopt_orphans()
    reapers: set[int] = set()
    signal.signal(signal.SIGCHLD, lambda *_: _reap(reapers))
    connection = socket.socket(fileno=args.socket)
    connection.send(READY)
    while True:
        message, descriptors, _, _ = socket.recv_fds(connection, MOST_BYTES, MOST_DESCRIPTORS)
        if not message:
            os._exit(0)  # the launcher has closed its end: the reapers end with this process
        # A new reaper must not be taken for an orphan before it is noted.
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        request = json.loads(message)
        reapers.add(_fork(module, connection, request, descriptors, args.parent))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for descriptor in descriptors:
            os.close(descriptor)


def _reap(reapers: set[int]) -> None:
    """Reap what has ended, and kill what a killed reaper has left: children that are no reapers."""
    with contextlib.suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            reapers.discard(pid)
    for child in psutil.Process().children():
        if child.pid not in reapers:
            with contextlib.suppress(psutil.Error):
                child.kill()  # its own children come here next


def _fork(
    module: ModuleType,
    connection: socket.socket,
    request: dict[str, Any],
    descriptors: list[int],
    launcher: int,
) -> int:
    """Fork a reaper, which forks its worker; returns the reaper's process id."""
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 warns of the threads of libraries.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid:
        return pid
    try:
        connection.close()
        os.setsid()  # as of a reaper that is executed
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # one that is ignored would not be awaited
        _, _, _, pid_pipe, end_pipe, *_ = descriptors
        os.write(end_pipe, b"%d\n" % os.getpid())

        def become_worker(own_reaper: int) -> None:
            _become_worker(module, request, descriptors, own_reaper)

        status = reaper.supervise(parent, pid_pipe, become_worker, end_pipe, launcher)
        os.write(end_pipe, b"%d\n" % os.waitstatus_to_exitcode(status))
    finally:
        os._exit(0)


def _become_worker(
    module: ModuleType, request: dict[str, Any], descriptors: list[int], own_reaper: int
) -> NoReturn:
    """Make of this fork what a process would be that executes the module."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    for descriptor in descriptors[:NUM_OWN]:
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    with contextlib.suppress(OSError):  # one that is executed keeps a folder that was removed
        os.chdir(request["folder"])
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # `random` does so by itself; otherwise workers draw the same numbers
    arguments = list(request["arguments"])
    if namespaces := descriptors[NUM_OWN:]:
        arguments += ["--enter", ",".join(map(str, namespaces))]
    sys.argv[1:] = arguments
    code = 1
    try:
        module.main([*arguments, "--parent", str(own_reaper)])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="strategy_core.processes.fork_server")
    parser.add_argument("--parent", type=int, required=True, help="process id of the launcher")
    parser.add_argument("--socket", type=int, required=True, help="descriptor of the connection")
    parser.add_argument("module", help="what a worker executes")
    return parser.parse_args(argv)


if __name__ == "__main__":
    main()
