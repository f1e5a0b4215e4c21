"""The processes of a run: their states and ends, derived from events in any order.

    history = ProcessHistory()
    for told in tail.read():
        history.take(told.event, told.worker, told.generation)
    history.current()         the processes of the run as it is now

The status of the run (`status.py`) is a function of these processes.

Workers and launchers write separate files that are read independently, so an event may arrive
before one that caused it. A state is therefore derived from all facts known of a process. The
launcher, which sees events in their order, has a table of transitions instead
(`strategy_core.launcher.worker_state`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum, auto

from msgspec import Struct

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.events import (
    Environment,
    Exited,
    Failed,
    Finished,
    FinishedStatus,
    Launched,
    Note,
    Recorded,
    SegmentOpened,
    StepDone,
    WorkerStarted,
)

_REJECTED = re.compile(r"rejected-worker-(\d{1,9})-(\d{1,9})-")
_GOOD_ENDS = ("finished", "stopped")


class ProcessState(StrEnum):
    """State of one process, as a reader of the run's files knows it."""

    STARTING = auto()
    RUNNING = auto()
    """The process has written something that it writes only after its start."""
    DONE = auto()
    """The process finished, or stopped on request."""
    REPLACED = auto()
    LOST = auto()
    """The process failed or was killed, and not because another one was lost."""
    ENDED = auto()
    """The process failed or was ended because another one was lost."""


ENDED_EARLY = frozenset({ProcessState.LOST, ProcessState.ENDED})
"""States of a process that has ended before its work was done."""


class Process(Struct):
    """What the events record about one process."""

    worker: int
    """The process's number in the whole run."""
    generation: int
    task: str | None = None
    """Task of the process in a cluster: `worker 1`, `parameter server 0`."""
    pid: int | None = None
    pid_started_ns: int | None = None
    """Start time of that pid, from the launcher."""
    joined_ns: int | None = None
    """When the process said that it belongs to the run: its pid was running by then."""
    clock_ahead_ns: int | None = None
    """How far its wall clock was ahead of its monotonic one then."""
    address: str | None = None
    host: str | None = None
    """Name of its machine, from the launcher; None if all of the run is on one machine."""
    machine: str | None = None
    """Name of its machine, from itself."""
    boot: str | None = None
    """Identifies the boot of its machine, from itself."""
    launched_ns: int | None = None
    """When its launcher assigned it to the run; None if no launcher recorded it."""
    last_ns: int = 0
    """Time of the last thing that it wrote, on its own clock; 0 if it wrote nothing."""
    is_up: bool = False
    finished: FinishedStatus | None = None
    why: str | None = None
    """Why it was stopped, as it wrote."""
    failed_ns: int | None = None
    failed: str | None = None
    """The error that the process reported."""
    lost_a_peer: bool = False
    """Whether that error only says that another process had ended."""
    verdict: str | None = None
    exited_ns: int | None = None
    """When its launcher recorded its end."""
    message: str | None = None
    """Why the process ended, as its launcher wrote."""
    follows: int | None = None
    """Number of the process that was lost before it."""
    lost_ns: int | None = None

    @property
    def is_launched(self) -> bool:
        return self.launched_ns is not None

    @property
    def title(self) -> str:
        return self.task or f"worker {self.worker}"

    @property
    def state(self) -> ProcessState:
        if "replaced" in (self.verdict, self.finished):
            return ProcessState.REPLACED
        has_finished = self.finished is not None and self.failed is None
        if self.verdict in _GOOD_ENDS or (self.verdict is None and has_finished):
            return ProcessState.DONE
        if self.verdict is not None or self.failed is not None:
            is_consequence = self.follows is not None if self.verdict else self.lost_a_peer
            return ProcessState.ENDED if is_consequence else ProcessState.LOST
        return ProcessState.RUNNING if self.is_up else ProcessState.STARTING

    @property
    def is_over(self) -> bool:
        return self.state not in (ProcessState.STARTING, ProcessState.RUNNING)

    @property
    def reason(self) -> str | None:
        """Why it ended: from its launcher, which knows what the process said, or from itself."""
        return self.message or self.failed


class ProcessHistory:
    """All processes that a run has had."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Process] = {}

    def take(
        self, event: Recorded, worker: int | None = None, generation: int | None = None
    ) -> bool:
        """Take an event of a writer into account; returns whether it concerns a process."""
        if isinstance(event, Note):
            return self._forget(event)
        if isinstance(event, Launched | Exited):
            worker, generation = event.worker, event.generation
        if worker is None or generation is None or not isinstance(event, _TAKEN):
            return False
        _take_event(self._process(worker, generation), event)
        return True

    def wrote(self, worker: int, generation: int, at_ns: int, *, has_stepped: bool = False) -> None:
        """Note when a process wrote something; steps and samples are read apart from events."""
        process = self._process(worker, generation)
        process.last_ns = max(process.last_ns, at_ns)
        process.is_up |= has_stepped

    def latest(self) -> list[Process]:
        """The latest process of each number, by number. The first one decides how a run ended."""
        latest: dict[int, Process] = {}
        for process in self._ours():
            known = latest.setdefault(process.worker, process)
            if process.generation > known.generation:
                latest[process.worker] = process
        return [latest[number] for number in sorted(latest)]

    def current(self) -> list[Process]:
        """The latest process of each number, without those that were replaced."""
        return [each for each in self.latest() if each.state is not ProcessState.REPLACED]

    def restarts(self) -> list[tuple[Process, Process]]:
        """Each process that ended early and was launched again, with the process after it."""
        after: dict[int, Process] = {}
        replaced = []
        for _, process in sorted(self._known.items(), reverse=True):
            if process.worker in after and process.state in ENDED_EARLY:
                replaced.append((process, after[process.worker]))
            if process.is_launched:
                after[process.worker] = process
        return replaced[::-1]

    def arriving(self) -> list[Process]:
        """The processes that have yet to take over: the launcher records those that have."""
        ours = {(process.worker, process.generation) for process in self._ours()}
        newest = max((generation for _, generation in ours), default=0)
        return [
            process
            for key, process in sorted(self._known.items())
            if key not in ours and process.generation > newest and not process.is_over
        ]

    def titles(self) -> dict[int, str]:
        """The latest title of each process, by number."""
        return {process.worker: process.title for _, process in sorted(self._known.items())}

    def _forget(self, note: Note) -> bool:
        """Drop a fresh process that could not take over: a note names the folder of its records."""
        folder = note.fields.get("folder")
        match = _REJECTED.match(folder) if isinstance(folder, str) else None
        key = (int(match[1]), int(match[2])) if match else None
        if key not in self._known or self._known[key].is_launched:
            return False
        del self._known[key]
        return True

    def _ours(self) -> list[Process]:
        """The processes that belong to the run: all but those that have yet to take over.

        A launcher records a later generation once it has taken over. A program that was recorded
        without a launcher has no such record, and each of its processes counts.
        """
        every = list(self._known.values())
        if not any(process.is_launched for process in every):
            return every
        return [process for process in every if process.is_launched or not process.generation]

    def _process(self, worker: int, generation: int) -> Process:
        return self._known.setdefault((worker, generation), Process(worker, generation))


def first_loss(processes: Sequence[Process]) -> Process | None:
    """Return the process whose loss explains the others' ends; None if no process was lost.

    One launcher of all processes names it. Of several launchers each names its own: the first loss
    counts, and a process that only reported losing a peer counts last. Without a launcher, as in
    the workers of a traced program, the first error counts. `StopIteration` comes after other
    errors: a distributed dataset ends on every worker if it fails on one.
    """

    def rank(process: Process) -> tuple[bool, bool, bool, bool, int]:
        lost_ns = process.lost_ns
        is_ended = process.state is ProcessState.ENDED
        since_ns = lost_ns or process.failed_ns or 0
        ran_out = process.failed == StopIteration.__name__
        return is_ended, process.lost_a_peer, ran_out, lost_ns is None, since_ns

    return min((each for each in processes if each.state in ENDED_EARLY), key=rank, default=None)


def read_processes(sources: Sequence[EventSource]) -> ProcessHistory:
    """Return the processes of a run that was read."""
    history = ProcessHistory()
    for source in sources:
        for kind in _READ:  # not the samples of memory: a run has thousands
            for event in source.of_kind(kind):
                history.take(event, source.worker, source.generation)
        if source.worker is not None and source.generation is not None and source.last_ns:
            has_stepped = len(source.steps) > 0
            history.wrote(source.worker, source.generation, source.last_ns, has_stepped=has_stepped)
    return history


_TAKEN = (
    Launched,
    WorkerStarted,
    Failed,
    Finished,
    Exited,
    SegmentOpened,
    Environment,
    StepDone,
)
_READ = (*_TAKEN, Note)


def _take_event(process: Process, event: Recorded) -> None:
    match event:
        case Launched():
            process.launched_ns, process.host = event.at_ns, event.host
            process.pid, process.pid_started_ns = event.pid, event.pid_started_ns
            process.task, process.address = event.task, event.address
        case WorkerStarted():
            process.pid, process.joined_ns = process.pid or event.pid, event.realtime_ns
            process.clock_ahead_ns = event.realtime_ns - event.monotonic_ns
        case Failed():
            process.failed = event.message or "It failed."
            process.failed_ns, process.lost_a_peer = event.at_ns, event.follows
        case Finished():
            process.finished, process.why = event.status, event.why
        case Exited():
            process.verdict, process.message = event.verdict, event.message
            process.exited_ns = event.at_ns
            process.follows = event.follows if event.is_consequence else None
            process.lost_ns = event.lost_ns
        case Environment():
            process.is_up, process.machine = True, event.host.name
            process.boot = event.host.boot
        case _:  # a process writes these only after its start
            process.is_up = True
