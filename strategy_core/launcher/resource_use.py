"""CPU time and memory of a run's processes, beside the CPU time of the whole machine.

The launcher reads them from the system, so a sample takes nothing from the training processes. The
processes that a worker starts, such as the converter of captures, count with it: all are in its
process group.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import psutil

from strategy_core.launcher.worker_monitor import WorkerMonitor
from strategy_lab.profiles.run.event_parts import ProcessUse
from strategy_lab.profiles.run.events import ResourcesSampled

EVERY_S = 2.0


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


def machine_time() -> MachineTime:
    times = psutil.cpu_times()
    stolen_s = getattr(times, "steal", 0.0)
    unused_s = times.idle + getattr(times, "iowait", 0.0)
    # Linux counts the time of guests in `user` as well.
    counted_twice_s = getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0)
    return MachineTime(sum(times) - unused_s - stolen_s - counted_twice_s, stolen_s)


def process_times(groups: Iterable[int]) -> dict[int, dict[int, ProcessTime]]:
    """The living processes of each of these process groups, by pid."""
    found: dict[int, dict[int, ProcessTime]] = {group: {} for group in groups}
    for pid in psutil.pids():
        try:
            group = os.getpgid(pid)
            if group in found:
                process = psutil.Process(pid)
                with process.oneshot():
                    times, memory = process.cpu_times(), process.memory_info()
                found[group][pid] = ProcessTime(times.user + times.system, memory.rss)
        except (psutil.Error, OSError):  # it has ended meanwhile
            continue
    return found


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

    def sample(self, workers: Iterable[WorkerMonitor], now: float) -> ResourcesSampled | None:
        """Return what was used since the last sample; None if that was less than 2 s ago."""
        if self._sampled_at is not None and now - self._sampled_at < EVERY_S:
            return None
        alive = [worker for worker in workers if worker.process.poll() is None]
        machine = self.read_machine()
        groups = self.read_groups([worker.process.pid for worker in alive])
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
            [_of_process(worker, cores_s, groups, elapsed_s) for worker in alive],
        )

    def _used_s(self, times: Mapping[int, ProcessTime]) -> float:
        return sum(
            max(time.cpu_s - self._cpu_s.get(pid, time.cpu_s), 0.0) for pid, time in times.items()
        )


def _of_process(
    worker: WorkerMonitor,
    cores_s: Mapping[int, float],
    groups: Mapping[int, Mapping[int, ProcessTime]],
    elapsed_s: float,
) -> ProcessUse:
    pid = worker.process.pid
    own = groups[pid].get(pid)
    return ProcessUse(
        worker.folder.worker,
        worker.folder.generation,
        _cores(cores_s[pid], elapsed_s),
        own.resident_bytes if own else None,
    )


def _cores(cpu_s: float, elapsed_s: float) -> float:
    return round(max(cpu_s, 0.0) / elapsed_s, 3)
