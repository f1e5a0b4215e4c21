"""One converter process: start it, send it jobs and read its results, without ever blocking.

The process may be killed, stopped or starved at any moment. Nothing here blocks the training:

- Both pipes are non-blocking. A write to the pipe of a stopped process would block once 64 kB are
  in it, so the rest stays in `_unsent`.
- `stdin` is unbuffered. Python's buffered writer keeps the data that a broken pipe refused and
  writes it again in `close()`, which then raises BrokenPipeError: with it, a killed converter ended
  the training.
- A silent process is not given up for its silence alone, because a process of the lowest priority
  is starved on a busy machine. It is given up only if it is stopped, or asleep without using the
  processor.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from strategy_core.processes.import_path import module_command, with_own_code
from strategy_profiles.capture.helper import Job

LOOK_EVERY_S = 1.0
STOPPED_S = 3.0
"""A process is given up after it was stopped (SIGSTOP) for this long."""
ASLEEP_S = 30.0
"""A process with a job is given up after it slept for this long."""
_FEWEST_LOOKS = 3
"""Number of checks that must agree before a process is given up.

One interval between two checks is not enough: the training process itself, and the converter with
it, may have been stopped in between.
"""
_END_S = 2.0
_LOWEST_PRIORITY = 19


class HelperProcess:
    """A converter process. Use it from one thread; the caller passes the time in."""

    def __init__(self) -> None:
        command = module_command("strategy_profiles.capture.helper")
        self._popen = subprocess.Popen(
            [*command, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=with_own_code(os.environ),
            bufsize=0,
        )
        # Not by the helper itself: after its imports, which take a second, the training may be
        # over and `raise_priority` called.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._popen.pid, _LOWEST_PRIORITY)
        assert self._popen.stdin is not None
        assert self._popen.stdout is not None
        self._stdin, self._stdout = self._popen.stdin.fileno(), self._popen.stdout.fileno()
        os.set_blocking(self._stdin, False)
        os.set_blocking(self._stdout, False)
        self._unsent = b""
        self._unread = b""
        self._next_look_s = 0.0
        self._cpu_s = -1.0
        self._quiet_state = ""
        self._quiet_since_s = 0.0
        self._num_quiet_looks = 0

    def is_alive(self) -> bool:
        return self._popen.poll() is None

    def send(self, job: Job) -> None:
        """Send a job. Data that does not fit into the pipe now is sent by the next `read`."""
        self._unsent += json.dumps(asdict(job)).encode() + b"\n"
        self._flush()

    def read(self) -> list[dict[str, Any]]:
        """Return the results available now."""
        self._flush()
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self._stdout, 1 << 16):
                self._unread += data
        *lines, self._unread = self._unread.split(b"\n")
        return [json.loads(line) for line in lines]

    def why_lost(self, now_s: float) -> str | None:
        """Say why the process will not answer any more; None while it still may."""
        code = self._popen.poll()
        if code is not None:
            return f"was killed by {_name(-code)}" if code < 0 else f"ended with code {code}"
        if now_s < self._next_look_s:
            return None
        self._next_look_s = now_s + LOOK_EVERY_S
        state = self._state()
        if state != self._quiet_state:
            self._quiet_state, self._quiet_since_s, self._num_quiet_looks = state, now_s, 0
        self._num_quiet_looks += 1
        quiet_s = now_s - self._quiet_since_s
        if self._num_quiet_looks < _FEWEST_LOOKS:
            return None
        if state == "stopped" and quiet_s >= STOPPED_S:
            return "was stopped (SIGSTOP)"
        if state == "asleep" and quiet_s >= ASLEEP_S:
            return f"did nothing for {quiet_s:.0f} s"
        return None

    def raise_priority(self) -> None:
        """Raise the process to normal priority, because the training is over.

        Only root may do so; otherwise the process stays at the lowest priority. On Linux each
        thread has a priority of its own: with that of the main thread alone, tables were written
        at the lowest.
        """
        normal = os.getpriority(os.PRIO_PROCESS, 0)
        for thread in _threads(self._popen.pid):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, thread, normal)

    def end(self) -> None:
        """Kill the process with SIGKILL, which also ends a stopped process.

        Waits `_END_S` at most: a process in uninterruptible disk sleep ends later.
        """
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                pipe.close()
        self._popen.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(_END_S)

    def _flush(self) -> None:
        """Write what fits into the pipe. Ignores a broken pipe, which `why_lost` reports."""
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            while self._unsent:
                self._unsent = self._unsent[os.write(self._stdin, self._unsent) :]

    def _state(self) -> str:
        """Return `stopped`, `asleep` (sleeping, no processor time used since the last call) or
        `busy`."""
        try:
            process = psutil.Process(self._popen.pid)
            status, times = process.status(), process.cpu_times()
        except psutil.Error:
            return "busy"  # it has just ended
        before_s, self._cpu_s = self._cpu_s, times.user + times.system
        if status in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP):
            return "stopped"
        is_asleep = status == psutil.STATUS_SLEEPING and self._cpu_s == before_s
        return "asleep" if is_asleep else "busy"


def _threads(pid: int) -> list[int]:
    """The ids of a process's threads, or its own where threads have no priority."""
    try:
        return [int(thread.name) for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return [pid]


def _name(number: int) -> str:
    """The name of a signal: `SIGKILL` for 9."""
    known = {each.value: each.name for each in signal.Signals}
    return known.get(number, f"signal {number}")
