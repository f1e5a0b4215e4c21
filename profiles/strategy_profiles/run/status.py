"""The state of a run, derived from those of its processes; it is not stored."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from strategy_profiles.run.event_files import EventSource
from strategy_profiles.run.liveness import (
    boot_id,
    is_alive,
    process_started_ns,
    set_since_ns,
)
from strategy_profiles.run.process_history import (
    Process,
    ProcessHistory,
    first_loss,
    read_processes,
)

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

_CUT_OFF = "The run was cut off, and no process recorded the reason."
NOTHING_YET = (
    "No process has recorded anything: the program has not imported TensorFlow yet, or has ended."
)
_LAUNCHER_KILLED = (
    "The run was cut off: the lab or command that had started it ended without stopping it."
)
"""A launcher records each end of its processes, so it must have ended before them."""


class Status(Struct, frozen=True):
    """State of a run. `message` is a sentence for the user, or None if the state is sufficient."""

    state: State
    message: str | None = None
    num_gone: int = 0
    """Of a running run: processes that no longer exist, with no exit reason recorded yet."""

    @property
    def is_over(self) -> bool:
        return self.state != "running"


class ProcessName(Struct, frozen=True):
    """A process by its pid and its start time, or else a time at which it already ran."""

    pid: int
    started_ns: int | None = None
    started_by_ns: int | None = None
    ahead_ns: int | None = None
    """How far its wall clock was ahead of the monotonic one when it joined the run."""


def derive_status(
    sources: Sequence[EventSource],
    *,
    alive: Callable[[ProcessName], bool] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Status:
    """Return the status of the run that these event files record, as `status_of` derives it."""
    return status_of(read_processes(sources), alive=alive, now_ns=now_ns)


def status_of(
    history: ProcessHistory,
    *,
    alive: Callable[[ProcessName], bool] | None = None,
    now_ns: Callable[[], int] = time.time_ns,
) -> Status:
    """Derive the status of a run from its processes.

    `alive` says whether a process exists on this machine; tests replace it and `now_ns`.
    """
    processes = history.latest()
    cause = first_loss(processes)
    end = processes[0].finished if processes else None
    if end and end != "replaced" and not _hides(cause, processes[0]):
        return Status(end, processes[0].why)
    if cause:
        return Status("failed", _failure(cause, processes))
    stopped = [process for process in processes if process.verdict == "stopped"]
    if stopped:  # by the launcher, after a process did not obey Stop in time
        return Status("stopped", next((each.reason for each in stopped if each.reason), None))
    names = [_name(each) for each in _checkable(processes) if each.verdict is None and each.pid]
    num_gone = sum(not (alive or _alive_here)(name) for name in names)
    now = now_ns()
    if num_gone < len(names) or any(_is_at_work(process, now) for process in processes):
        return Status("running", num_gone=num_gone)
    if not processes:
        return Status("incomplete", NOTHING_YET)
    is_launched = any(process.is_launched for process in processes)
    return Status("incomplete", _LAUNCHER_KILLED if is_launched else _CUT_OFF)


def living_workers(sources: Sequence[EventSource]) -> set[int]:
    """Return the numbers of the processes that may still write into the run.

    A run is over as soon as one of its processes failed: others may go on for a moment.
    """
    processes = [each for each in read_processes(sources).latest() if each.verdict is None]
    local = _checkable(processes)
    workers = {each.worker for each in local if each.pid and _alive_here(_name(each))}
    now = time.time_ns()
    elsewhere = [each for each in processes if each not in local and not each.is_over]
    return workers | {each.worker for each in elsewhere if now - each.last_ns < _SIGN_OF_LIFE_NS}


def _hides(cause: Process | None, leader: Process) -> bool:
    """Return whether the end that the leader recorded is not that of the run.

    A launcher judges the run by its leader. Without one, each worker of a program records its own
    end: a worker that failed by an error of its own fails the run, also if the user then stopped
    the others.
    """
    if cause is None:
        return False
    return leader.failed is not None or not (leader.is_launched or cause.lost_a_peer)


def _failure(cause: Process, processes: Sequence[Process]) -> str:
    """Return why the run failed; `cause` is the process that was lost first."""
    verdict = _BAD_VERDICTS.get(cause.verdict or "", "ended before its time")
    said = cause.reason or f"Worker {cause.worker} {verdict}."
    if not cause.is_launched and any(process.worker for process in processes):
        said = f"{cause.title[0].upper()}{cause.title[1:]}: {said}"
    silent = [each for each in processes if each.is_launched and each.host and not each.is_over]
    if not cause.lost_a_peer or not silent:
        return said
    names = " and ".join(f"{each.task or each.worker} on {each.host}" for each in silent)
    return f"No further event came from {names}. Its peers: {said}"


def _checkable(processes: Sequence[Process]) -> list[Process]:
    """Return the processes of this machine: pids of another one say nothing here.

    Launchers name the host of each process if there can be several. Otherwise all processes are on
    the machine that any of them names.
    """
    own_names = (None, platform.node())
    is_named = any(process.host for process in processes)
    if not is_named and any(process.machine not in own_names for process in processes):
        return []
    return [process for process in processes if process.host in own_names]


def _is_at_work(process: Process, now_ns: int) -> bool:
    """Return whether the run goes on by this process, although it is not known to be alive here.

    It has been replaced a moment ago, or it is on another machine and has written recently.
    """
    if process.verdict == "replaced":
        return 0 <= now_ns - (process.exited_ns or 0) < _REPLACEMENT_NS
    if process.verdict is not None or process.host in (None, platform.node()):
        return False
    return now_ns - max(process.launched_ns or 0, process.last_ns) < _SIGN_OF_LIFE_NS


def _name(process: Process) -> ProcessName:
    if process.pid_started_ns is not None:
        return ProcessName(
            process.pid or 0, process.pid_started_ns, ahead_ns=process.clock_ahead_ns
        )
    # After a reboot, the monotonic clock does not tell how far the other one was set.
    is_this_boot = process.boot is not None and process.boot == boot_id()
    ahead_ns = process.clock_ahead_ns if is_this_boot else None
    return ProcessName(process.pid or 0, None, process.joined_ns, ahead_ns)


def _alive_here(process: ProcessName) -> bool:
    if process.started_ns is not None:
        return is_alive(process.pid, process.started_ns, process.ahead_ns)
    started_ns = process_started_ns(process.pid)
    if started_ns is None:
        return False
    # A process that started after it joined the run is another process with a reused pid.
    joined_ns = process.started_by_ns or started_ns
    if all(started_ns - set_ns > joined_ns for set_ns in set_since_ns(process.ahead_ns)):
        return False
    return is_alive(process.pid, started_ns)
