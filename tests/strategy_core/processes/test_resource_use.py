"""What a launcher, or the recorder of a program without one, samples of processes and machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from strategy_core.processes.resource_use import (
    MachineTime,
    ProcessTime,
    ResourceSampler,
    RunProcess,
    machine_time,
    own_times,
    process_times,
)
from tests.timeouts import MAX_WAIT_S

PARENT = """
import subprocess, sys
code = "import os; print(os.getpid(), flush=True); input()"
child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
input()
child.kill()
"""


@dataclass
class FakeSystem:
    """CPU seconds that the test sets: of the machine, and of each process by its group."""

    busy_s: float = 100.0
    stolen_s: float = 5.0
    groups: dict[int, dict[int, float]] = field(default_factory=dict)

    def sampler(self) -> ResourceSampler:
        return ResourceSampler(4, lambda: MachineTime(self.busy_s, self.stolen_s), self.read)

    def read(self, groups: Iterable[int]) -> dict[int, dict[int, ProcessTime]]:
        return {
            group: {pid: ProcessTime(cpu_s, 1000 + pid) for pid, cpu_s in times.items()}
            for group, times in self.groups.items()
            if group in groups
        }


def living(*pids: int) -> Callable[[], list[RunProcess]]:
    return lambda: [RunProcess(pid, number, 0) for number, pid in enumerate(pids)]


def test_the_first_sample_only_sets_the_start() -> None:
    assert FakeSystem(groups={7: {7: 50.0}}).sampler().sample(living(7), 0.0) is None


def test_use_is_cpu_time_per_second_with_the_processes_that_a_worker_started() -> None:
    system = FakeSystem(groups={7: {7: 50.0, 8: 1.0}})
    sampler = system.sampler()
    sampler.sample(living(7), 0.0)
    system.busy_s, system.stolen_s, system.groups = 106.0, 5.5, {7: {7: 52.0, 8: 2.0}}
    sample = sampler.sample(living(7), 2.0)
    assert sample is not None
    assert (sample.interval_ms, sample.num_cores) == (2000.0, 4)
    assert (sample.busy_cores, sample.stolen_cores) == (3.0, 0.25)
    (process,) = sample.processes
    assert (process.worker, process.cores, process.resident_bytes) == (0, 1.5, 1007)


def test_there_is_at_most_one_sample_in_two_seconds() -> None:
    sampler = FakeSystem(groups={7: {7: 1.0}}).sampler()
    sampler.sample(living(7), 0.0)
    assert sampler.sample(living(7), 1.9) is None
    assert sampler.sample(living(7), 2.0) is not None


def test_the_time_that_a_spare_process_used_before_its_run_does_not_count() -> None:
    system = FakeSystem(groups={7: {7: 1.0}})
    sampler = system.sampler()
    sampler.sample(living(7), 0.0)
    system.groups = {7: {7: 2.0}, 9: {9: 60.0}}
    sample = sampler.sample(living(7, 9), 2.0)
    assert sample is not None
    assert [process.cores for process in sample.processes] == [0.5, 0.0]


def test_an_ended_process_is_left_out() -> None:
    system = FakeSystem(groups={7: {7: 1.0}})
    sampler = system.sampler()
    sampler.sample(living(7), 0.0)
    assert sampler.sample(living(), 2.0) is None


def test_a_process_and_its_child_are_read_from_the_system() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert parent.stdin
    assert parent.stdout
    child = int(parent.stdout.readline())
    times = process_times([parent.pid])[parent.pid]
    parent.communicate("\n", timeout=MAX_WAIT_S)
    assert set(times) == {parent.pid, child}
    assert all(time.cpu_s >= 0 and time.resident_bytes > 1_000_000 for time in times.values())


def test_a_program_counts_itself_and_what_it_started_wherever_that_is() -> None:
    code = "import os; print(os.getpid(), flush=True); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout
    child.stdout.readline()
    try:
        (times,) = own_times([]).values()
    finally:
        child.communicate("\n", timeout=MAX_WAIT_S)
    assert {os.getpid(), child.pid} <= set(times)
    assert os.getppid() not in times
    assert times[os.getpid()].cpu_s > 0


def test_the_time_of_the_machine_grows_with_work() -> None:
    before, begun_s = machine_time(), sum(os.times()[:2])
    while sum(os.times()[:2]) < begun_s + 0.2:
        pass
    assert machine_time().busy_s - before.busy_s > 0.15
