"""Limits on the resources of a program that a user typed into a page, and their measurement.

A limit covers the program's process and every process below it. Most of what a program uses is
measured from outside, because the kernel's own limits do not fit: TensorFlow reserves far more
address space than it uses (RLIMIT_AS), and RLIMIT_NPROC counts every process of the user.
`harden` sets those that do fit, for what happens between two measurements.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from strategy_profiles.guards import files_below

GIB = 1 << 30
_SPARE_THREADS = 4096
"""How many more processes and threads its user may have once a program was started."""
_MORE_CPU_S = 5
"""From SIGXCPU, which a program can ignore, to SIGKILL."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a program and the processes it starts may use."""

    wall_s: float = 180.0
    """Counts the start of TensorFlow too, which alone can take a minute on a busy machine."""
    cpu_s: float = 600.0
    """Processor time on all cores together."""
    memory_bytes: int = 4 * GIB
    """Resident memory."""
    num_processes: int = 32
    disk_bytes: int = GIB // 2
    """Limit for all files in the folder together, and for each file elsewhere."""

    def exceeded(self, use: Use) -> str | None:
        """What to tell the user about the first limit that `use` exceeds; None if it fits."""
        if use.wall_s > self.wall_s:
            return f"The program was stopped after {self.wall_s:.0f} s, the longest it may run"
        if use.cpu_s > self.cpu_s:
            return (
                f"The program was stopped because it used more than {self.cpu_s:.0f} s of "
                "processor time"
            )
        if use.memory_bytes > self.memory_bytes:
            return (
                f"The program was stopped because it used {use.memory_bytes / 1e9:.1f} GB of "
                f"memory; {self.memory_bytes / 1e9:.1f} GB is the limit"
            )
        if use.num_processes > self.num_processes:
            return (
                f"The program was stopped because it had {use.num_processes} processes; "
                f"{self.num_processes} is the limit"
            )
        if use.disk_bytes > self.disk_bytes:
            return (
                f"The program was stopped because it wrote {use.disk_bytes / 1e6:.0f} MB to its "
                f"folder; {self.disk_bytes / 1e6:.0f} MB is the limit"
            )
        return None


@dataclass(frozen=True, slots=True)
class Use:
    """What a program and the processes below it use."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    memory_bytes: int = 0
    num_processes: int = 0
    disk_bytes: int = 0


def of_this_machine() -> Limits:
    """The default limits, with at most half of this machine's memory."""
    half = psutil.virtual_memory().total // 2
    return Limits(memory_bytes=min(Limits().memory_bytes, half))


def cpu_seconds(processes: Iterable[psutil.Process]) -> float:
    """Processor time of living processes and of the children that they have waited for, s."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
            total += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
    return total


def memory_bytes(processes: Iterable[psutil.Process], enough: int) -> int:
    """Return the resident memory of several processes, in bytes.

    The sum of their resident sizes (RSS) is cheap, but counts a page that forked processes share
    once for each. Above `enough`, the sum of their proportional sizes (PSS) is returned instead: it
    divides a page among the processes that share it, and takes the kernel milliseconds.
    """
    listed = list(processes)
    total = sum(_rss(process) for process in listed)
    if total <= enough or len(listed) < 2:
        return total
    return sum(_pss(process) for process in listed)


def folder_bytes(folder: Path) -> int:
    """Return the disk space that the files in a folder take, in bytes."""
    total = 0
    for file in files_below(folder):
        with contextlib.suppress(OSError):
            total += file.lstat().st_blocks * 512
    return total


def harden(pid: int, limits: Limits) -> None:
    """Set kernel limits on a process that was just started. Its own children inherit them."""
    if sys.platform != "linux":
        return
    cpu_s = int(limits.cpu_s) + 1
    _set(pid, resource.RLIMIT_CPU, cpu_s, cpu_s + _MORE_CPU_S)
    _set(pid, resource.RLIMIT_FSIZE, limits.disk_bytes, limits.disk_bytes)
    _set(pid, resource.RLIMIT_CORE, 0, 0)
    # No effect for root. It bounds what a fork bomb can do until it is noticed.
    most = _num_threads_of_user() + _SPARE_THREADS
    _set(pid, resource.RLIMIT_NPROC, most, most)
    with contextlib.suppress(OSError):  # the kernel ends this one first if memory runs out
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000")


def _set(pid: int, limit: int, soft: int, hard: int) -> None:
    with contextlib.suppress(OSError, ValueError):  # a lower limit is in force already
        resource.prlimit(pid, limit, (soft, hard))


def _num_threads_of_user() -> int:
    total, uid = 0, os.getuid()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.uids().real == uid:
                total += process.num_threads()
    return total


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.Error:
        return 0


def _pss(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.Error, AttributeError):  # only Linux tells it
        return _rss(process)
