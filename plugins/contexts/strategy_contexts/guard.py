"""A process between the page and a recorded program that reliably ends the program.

`python -m strategy_contexts.guard FOLDER` reads one request from stdin, starts the program and
measures what it uses. When the program has ended or exceeded a limit, all of its processes are
killed and a line of JSON on stdout says why: the program can write to FOLDER, but not there. The
guard then keeps the folder until its stdin ends, which happens when the page closes it or dies,
`kill -9` included. If the guard itself is killed, the kernel ends the program (see
`processes.parent_death`).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from strategy_contexts import limits
from strategy_core.processes import descendants, reaper, scratch
from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.guards import remove_folder

OUTPUT = "output.log"
_LOOK_EVERY_S = 0.2
_WEIGH_EVERY = 5
"""Number of resource checks between two measurements of the folder's size."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the guard ends when its stdin does
    folder = Path(sys.argv[1])
    scratch.hold(folder)
    if sys.platform == "linux":
        reaper.adopt_orphans()
    request = sys.stdin.buffer.readline()
    closed = threading.Event()
    threading.Thread(target=_wait_for_end, args=(closed,), daemon=True).start()
    if request:
        ending = _watch(json.loads(request), folder, closed)
        with contextlib.suppress(OSError):  # the page is gone
            os.write(sys.stdout.fileno(), json.dumps(ending).encode() + b"\n")
        closed.wait()
    with contextlib.suppress(OSError):
        remove_folder(folder)


def _wait_for_end(closed: threading.Event) -> None:
    sys.stdin.buffer.read()
    closed.set()


def _watch(request: dict[str, Any], folder: Path, closed: threading.Event) -> dict[str, Any]:
    """Run the program until it ends or exceeds a limit.

    Returns its `exit_code` and, if it was ended, why it was `stopped`.
    """
    allowed = limits.Limits(**request.pop("limits"))
    started = time.monotonic()
    program = _start(request, folder)
    limits.harden(program.pid, allowed)
    looks, disk_bytes, code, stopped = 0, 0, None, None
    while stopped is None and not closed.wait(_LOOK_EVERY_S):
        if (status := reaper.reap(program.pid)) is not None:
            code = os.waitstatus_to_exitcode(status)
            break
        if looks % _WEIGH_EVERY == 0:
            disk_bytes = limits.folder_bytes(folder)
        looks += 1
        stopped = allowed.exceeded(_use(started, disk_bytes, allowed))
    if sys.platform == "linux":
        reaper.end_descendants()
    else:  # an orphan leaves the process tree, but keeps its environment
        for process in _descendants():
            with contextlib.suppress(psutil.Error):
                process.kill()
        descendants.end_descendants(request["mark"])
    if code == -signal.SIGXCPU:
        stopped = allowed.exceeded(limits.Use(cpu_s=allowed.cpu_s + 1))
    return {"exit_code": code, "stopped": stopped}


def _use(started: float, disk_bytes: int, allowed: limits.Limits) -> limits.Use:
    processes = _descendants()
    reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
    return limits.Use(
        wall_s=time.monotonic() - started,
        cpu_s=limits.cpu_seconds(processes) + reaped.ru_utime + reaped.ru_stime,
        memory_bytes=limits.memory_bytes(processes, allowed.memory_bytes),
        num_processes=len(processes),
        disk_bytes=disk_bytes,
    )


def _descendants() -> list[psutil.Process]:
    """The living processes below this one, in any session."""
    living = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                living.append(process)
    return living


def _start(request: dict[str, Any], folder: Path) -> subprocess.Popen[bytes]:
    temporary = folder / "tmp"
    temporary.mkdir()
    with (folder / OUTPUT).open("wb") as output:
        program = subprocess.Popen(
            [*module_command("strategy_contexts"), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
            env=with_own_code(os.environ)
            | {
                "TF_CPP_MIN_LOG_LEVEL": "3",
                # files that a killed program leaves there are removed with the folder
                "TMPDIR": str(temporary),
                descendants.VARIABLE: request["mark"],
            },
        )
    assert program.stdin is not None
    try:
        program.stdin.write(json.dumps(request).encode() + b"\n")
        program.stdin.flush()
    except OSError:
        pass  # the program ended at once; its exit code says so
    return program


if __name__ == "__main__":
    main()
