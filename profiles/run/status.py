"""The state of a run, derived from its events and its processes; it is not stored."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from strategy_lab.profiles.run.event_files import EventSource
from strategy_lab.profiles.run.events import (
    Environment,
    Exited,
    Failed,
    Finished,
    Launched,
    WorkerStarted,
)
from strategy_lab.profiles.run.liveness import is_alive, process_started_ns
from strategy_lab.profiles.run.process_history import first_loss, read_processes

OfProcess = TypeVar("OfProcess", Launched, Exited)
State = Literal["finished", "running", "stopped", "failed", "incomplete"]

_BAD_VERDICTS = {
    "failed": "failed",
    "crashed": "crashed",
    "killed": "was killed",
    "hung": "hung: no event and no progress",
    "out-of-memory": "ran out of memory",
}
_REPLACEMENT_NS = 60_000_000_000
"""After a worker exits with the verdict `replaced`, the run counts as running for this long."""

_SIGN_OF_LIFE_NS = 120_000_000_000
"""A process on another machine counts as ended if it has written nothing for this long."""


@dataclass(frozen=True, slots=True)
class Status:
    """State of a run. `message` is a sentence for the user, or None if the state is sufficient."""

    state: State
    message: str | None = None
    num_gone: int = 0
    """Of a running run: processes that no longer exist, with no exit reason recorded yet."""

    @property
    def is_over(self) -> bool:
        return self.state != "running"


@dataclass(frozen=True, slots=True)
class ProcessName:
    """A process by its pid and its start time, or else a time at which it already ran."""

    pid: int
    started_ns: int | None = None
    started_by_ns: int | None = None


def derive_status(
    sources: Sequence[EventSource],
    *,
    alive: Callable[[ProcessName], bool] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Status:
    """Derive the status of a run from its event files.

    `alive` says whether a process exists on this machine; tests replace it and `now_ns`.
    """
    sources = _of_the_run(sources)
    latest = _latest_processes(sources)
    chief = latest[0] if latest else None
    failure = _failure(sources)
    if chief and (failure is None or not chief.of_kind(Failed)):
        for event in reversed(chief.of_kind(Finished)):
            if event.status != "replaced":
                return Status(event.status)
    if failure:
        return Status("failed", failure)
    if any(event.verdict == "stopped" for event in _last_exits(sources)):
        return Status("stopped")
    exits = _last_exits(sources)
    processes = _processes(sources, exits) if _is_this_machine(sources) else []
    num_gone = sum(not (alive or _alive_here)(process) for process in processes)
    if num_gone < len(processes) or _is_at_work(sources, exits, now_ns()):
        return Status("running", num_gone=num_gone)
    return Status("incomplete", "The run was cut off, and no process recorded the reason.")


def _of_the_run(sources: Sequence[EventSource]) -> Sequence[EventSource]:
    """Return the sources without fresh workers that have not taken over yet.

    The launcher records a worker's launch only after it has taken over.
    """
    launched = [
        (event.worker, event.generation)
        for source in sources
        if source.worker is None
        for event in source.of_kind(Launched)
    ]
    if not launched:
        return sources
    return [
        source
        for source in sources
        if not source.generation or (source.worker, source.generation) in launched
    ]


def _latest_processes(sources: Sequence[EventSource]) -> list[EventSource]:
    """Return each worker's last process. The first worker's decides how the run ended.

    If a worker was launched again and its new process has not written anything yet, its earlier
    process does not count.
    """
    latest: dict[int, EventSource] = {}
    newest = {event.worker: event.generation for event in _last_of_each(sources, Launched)}
    for source in sources:
        if source.worker is not None:
            if (source.generation or 0) < newest.get(source.worker, 0):
                continue
            known = latest.setdefault(source.worker, source)
            if (source.generation or 0) > (known.generation or 0):
                latest[source.worker] = source
    return [latest[worker] for worker in sorted(latest)]


def _failure(sources: Sequence[EventSource]) -> str | None:
    """Return why the run failed, from the process that was lost first; None if nothing failed."""
    processes = read_processes(sources).current()
    cause = first_loss(processes)
    if cause is None:
        return None
    verdict = _BAD_VERDICTS.get(cause.verdict or "", "ended before its time")
    said = cause.reason or f"Worker {cause.worker} {verdict}."
    silent = [each for each in processes if each.is_launched and each.host and not each.is_over]
    if not cause.lost_a_peer or not silent:
        return said
    names = " and ".join(f"{each.task or each.worker} on {each.host}" for each in silent)
    return f"No further event came from {names}. Its peers: {said}"


def _last_of_each(sources: Sequence[EventSource], kind: type[OfProcess]) -> list[OfProcess]:
    """Return the launchers' last event of a kind for each worker, of any generation."""
    latest = {
        event.worker: event
        for source in sources
        if source.worker is None
        for event in source.of_kind(kind)
    }
    return list(latest.values())


def _last_exits(sources: Sequence[EventSource]) -> list[Exited]:
    """Return the exits of workers that were not started again afterwards."""
    launched = {event.worker: event.generation for event in _last_of_each(sources, Launched)}
    return [
        event
        for event in _last_of_each(sources, Exited)
        if launched.get(event.worker) in (None, event.generation)
    ]


def _is_at_work(sources: Sequence[EventSource], exits: list[Exited], now_ns: int) -> bool:
    """Return whether the run goes on although no process of it is known to be alive here."""
    if _is_at_work_elsewhere(sources, exits, now_ns):
        return True
    return _is_this_machine(sources) and any(
        event.verdict == "replaced" and 0 <= now_ns - event.at_ns < _REPLACEMENT_NS
        for event in exits
    )


def _is_at_work_elsewhere(sources: Sequence[EventSource], exits: list[Exited], now_ns: int) -> bool:
    """Return whether a process on another machine, whose pid cannot be checked, wrote recently."""
    gone = {(event.worker, event.generation) for event in exits}
    for event in _last_of_each(sources, Launched):
        name = (event.worker, event.generation)
        if event.host in (None, platform.node()) or name in gone:
            continue
        written = [event.at_ns]
        written += [
            source.last_ns for source in sources if (source.worker, source.generation) == name
        ]
        if any(now_ns - at_ns < _SIGN_OF_LIFE_NS for at_ns in written):
            return True
    return False


def _processes(sources: Sequence[EventSource], exits: list[Exited]) -> list[ProcessName]:
    """Return the processes that should run on this machine.

    They are those launched here that have not exited or, without a launcher, those that report.
    """
    gone = {(event.worker, event.generation) for event in exits}
    if any(source.worker is None for source in sources):
        named = [
            ProcessName(event.pid, event.pid_started_ns, None)
            for event in _last_of_each(sources, Launched)
            if (event.worker, event.generation) not in gone
            and event.host in (None, platform.node())
        ]
    else:
        named = [
            ProcessName(event.pid, None, event.realtime_ns)
            for source in sources
            for event in source.of_kind(WorkerStarted)
        ]
    return [process for process in named if process.pid]


def _is_this_machine(sources: Sequence[EventSource]) -> bool:
    """Return False if the run was on another host, whose pids cannot be checked here.

    If launchers name the hosts of their processes, these are checked individually.
    """
    if any(event.host for event in _last_of_each(sources, Launched)):
        return True
    named = [event.host.name for source in sources for event in source.of_kind(Environment)]
    return all(name in (None, platform.node()) for name in named)


def _alive_here(process: ProcessName) -> bool:
    started_ns = process.started_ns
    if started_ns is None:
        started_ns = process_started_ns(process.pid)
        # A process that started after it joined the run is another process with a reused pid.
        if started_ns is None or started_ns > (process.started_by_ns or started_ns):
            return False
    return is_alive(process.pid, started_ns)
