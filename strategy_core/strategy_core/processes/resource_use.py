"""CPU time and memory of a run's processes, beside the CPU time of the whole machine.

A launcher reads them from the system, so a sample takes nothing from the training processes. The
processes that a worker starts, such as the converter of captures, count with it: all are in its
process group. A program without a launcher samples itself and the processes below it, because its
process group may be that of a script which runs other programs, too.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import psutil

from strategy_profiles.run.event_parts import ProcessUse
from strategy_profiles.run.events import ResourcesSampled

EVERY_S = 2.0
_MOST_CHILDREN_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class MachineTime:
    """CPU seconds of all programs together, since the machine started."""

    busy_s: float
    stolen_s: float
    """Given to other virtual machines on the same hardware."""


@dataclass(frozen=True, slots=True)
class ProcessTime:
    """One process of the system."""

    cpu_s: float
    """Since it started."""
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class RunProcess:
    """A living process of a run."""

    pid: int
    worker: int
    generation: int


def machine_time() -> MachineTime:
    times = psutil.cpu_times()
    stolen_s = getattr(times, "steal", 0.0)
    unused_s = times.idle + getattr(times, "iowait", 0.0)
    # Linux counts the time of guests in `user` as well.
    counted_twice_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return MachineTime(sum(times) - unused_s - stolen_s - counted_twice_s, stolen_s)


def process_times(groups: Iterable[int]) -> dict[int, dict[int, ProcessTime]]:
    """The living processes of each of these process groups, by pid."""
    times_of: dict[int, dict[int, ProcessTime]] = {group: {} for group in groups}
    for pid in psutil.pids():
        try:
            group = os.getpgid(pid)
            if group in times_of:
                process = psutil.Process(pid)
                with process.oneshot():
                    times, memory = process.cpu_times(), process.memory_info()
                times_of[group][pid] = ProcessTime(times.user + times.system, memory.rss)
        except (psutil.Error, OSError):  # it has ended meanwhile
            continue
    return times_of


def own_times(_groups: Iterable[int]) -> dict[int, dict[int, ProcessTime]]:
    """This process and all below it, by pid; as `process_times` with this process as the group."""
    times_of: dict[int, ProcessTime] = {}
    waiting = [os.getpid()]
    while waiting:
        pid = waiting.pop()
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                times, memory = process.cpu_times(), process.memory_info()
            times_of[pid] = ProcessTime(times.user + times.system, memory.rss)
            waiting += [child for child in _children(pid) if child not in times_of]
        except (psutil.Error, OSError):  # it has ended meanwhile
            continue
    return {os.getpid(): times_of}


def _children(pid: int) -> list[int]:
    """The pids of a process's children.

    psutil asks every process of the machine for its parent, which takes 10 ms with 1,000 of them.
    """
    children: list[int] = []
    try:
        with os.scandir(f"/proc/{pid}/task") as threads:
            for thread in threads:
                with contextlib.suppress(OSError):  # it has ended meanwhile
                    children += map(int, _content(f"{thread.path}/children").split())
    except FileNotFoundError:  # not Linux
        return [child.pid for child in psutil.Process(pid).children()]
    return children


def _content(path: str) -> bytes:
    """A small file's content, in a third of the time that `Path.read_bytes` takes."""
    file = os.open(path, os.O_RDONLY)
    try:
        return os.read(file, _MOST_CHILDREN_BYTES)
    finally:
        os.close(file)


@dataclass
class ResourceSampler:
    """Compares each sample with the one before it. Driven by one thread, which passes the time in.

    A process counts from its second sample on: a spare process has used CPU time before its run.
    """

    num_cores: int = field(default_factory=lambda: psutil.cpu_count() or 1)
    read_machine: Callable[[], MachineTime] = machine_time
    read_groups: Callable[[Iterable[int]], dict[int, dict[int, ProcessTime]]] = process_times
    _sampled_at: float | None = None
    _machine: MachineTime = MachineTime(0.0, 0.0)
    _cpu_s: dict[int, float] = field(default_factory=dict)
    """By pid, of the last sample."""

    def sample(
        self, living: Callable[[], Iterable[RunProcess]], now: float
    ) -> ResourcesSampled | None:
        """Return what was used since the last sample; None if that was less than 2 s ago."""
        if self._sampled_at is not None and now - self._sampled_at < EVERY_S:
            return None
        alive = list(living())
        machine = self.read_machine()
        groups = self.read_groups([process.pid for process in alive])
        elapsed_s = None if self._sampled_at is None else now - self._sampled_at
        before, self._machine = self._machine, machine
        cores_s = {group: self._used_s(times) for group, times in groups.items()}
        self._cpu_s = {pid: time.cpu_s for times in groups.values() for pid, time in times.items()}
        self._sampled_at = now
        if elapsed_s is None or not alive:
            return None
        return ResourcesSampled(
            round(elapsed_s * 1e3, 3),
            self.num_cores,
            _cores(machine.busy_s - before.busy_s, elapsed_s),
            _cores(machine.stolen_s - before.stolen_s, elapsed_s),
            [_of_process(process, cores_s, groups, elapsed_s) for process in alive],
        )

    def _used_s(self, times: Mapping[int, ProcessTime]) -> float:
        return sum(
            max(time.cpu_s - self._cpu_s.get(pid, time.cpu_s), 0.0) for pid, time in times.items()
        )


def _of_process(
    process: RunProcess,
    cores_s: Mapping[int, float],
    groups: Mapping[int, Mapping[int, ProcessTime]],
    elapsed_s: float,
) -> ProcessUse:
    own = groups[process.pid].get(process.pid)
    return ProcessUse(
        process.worker,
        process.generation,
        _cores(cores_s[process.pid], elapsed_s),
        own.resident_bytes if own else None,
    )


def _cores(cpu_s: float, elapsed_s: float) -> float:
    return round(max(cpu_s, 0.0) / elapsed_s, 3)
