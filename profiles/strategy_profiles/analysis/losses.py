"""What followed the loss of a process: who noticed, by which error, and how long it took.

Times are the launcher's, which watches every process on one clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from strategy_profiles.reporting.units import milliseconds, seconds
from strategy_profiles.run.events import SegmentOpened
from strategy_profiles.run.process_history import (
    Process,
    ProcessState,
    first_loss,
    read_processes,
)
from strategy_profiles.run.tensorflow_names import LOST_PEER_ERRORS
from strategy_profiles.run.topology import has_coordinator, has_servers, is_pod
from strategy_profiles.tables.store import Profile

WHY_PEERS = (
    "Every worker takes part in every all-reduce, so none can finish a step without the others."
)
WHY_SERVERS = (
    "The coordinator and every parameter server are needed: each variable has one copy. The run "
    "continues when it loses only a worker."
)
WHY_HOSTS = (
    "The cores of every host take part in every sum over the replicas, so no host can finish "
    "a step without the others."
)
AT_ONCE_MS = 100.0
"""Time by which the end of a process may be noticed after the end of its connections."""


@dataclass(frozen=True, slots=True)
class FollowingEnd:
    """A process that ended because another one was lost."""

    title: str
    after_ms: float | None
    """Time since the loss in ms; None unless both times are known."""
    error: str | None
    """The error that it reported; None if it reported none before it was ended."""


@dataclass(frozen=True, slots=True)
class Loss:
    """A process that was lost, and what became of the others."""

    worker: int
    title: str
    message: str
    noticed: tuple[FollowingEnd, ...]
    why: str | None

    @property
    def sentences(self) -> list[str]:
        """The sequence of events, one sentence per event."""
        sentences = [
            f"{self.title.capitalize()} was lost. {_without_name(self.message, self.title)}"
        ]
        sentences += map(_sentence, self.noticed)
        return [*sentences, self.why] if self.noticed and self.why else sentences


def loss(profile: Profile) -> Loss | None:
    """Return the loss that ended a run of several processes; None if none did."""
    segment = profile.segments[-1] if profile.segments else None
    return find_loss(read_processes(profile.sources).current(), segment)


def find_loss(processes: Sequence[Process], segment: SegmentOpened | None) -> Loss | None:
    """Return the first loss among the processes of a segment.

    Returns None if no process was lost, or if the run has only one.
    """
    cause = first_loss(processes)
    if len(processes) < 2 or cause is None or cause.state is not ProcessState.LOST:
        return None
    followers = [process for process in processes if process.state == "ended"]
    noticed = sorted(
        (_noticed(process, cause) for process in followers),
        key=lambda item: (item.after_ms is None, item.after_ms or 0.0),
    )
    message = cause.reason or "No process reported the reason."
    return Loss(cause.worker, cause.title, message, tuple(noticed), _why(segment))


def _why(segment: SegmentOpened | None) -> str | None:
    """Why the other processes could not go on."""
    if segment is None or (segment.num_workers < 2 and not has_coordinator(segment)):
        return None
    if has_servers(segment):
        return WHY_SERVERS
    return WHY_HOSTS if is_pod(segment) else WHY_PEERS


def _noticed(process: Process, cause: Process) -> FollowingEnd:
    after_ms = None
    if process.failed is not None and process.lost_ns and cause.lost_ns:
        after_ms = (process.lost_ns - cause.lost_ns) / 1e6
    return FollowingEnd(process.title, after_ms, process.failed)


def _sentence(noticed: FollowingEnd) -> str:
    title = noticed.title.capitalize()
    if noticed.error is None:
        return f"{title} reported nothing; the launcher ended it."
    kind = noticed.error.partition(":")[0]
    meaning = f" ({LOST_PEER_ERRORS[kind]})" if kind in LOST_PEER_ERRORS else ""
    error = f"{kind}{meaning}" if meaning else noticed.error.rstrip(".")
    if noticed.after_ms is None:
        return f"{title} noticed by {error}."
    if -AT_ONCE_MS < noticed.after_ms < 0:
        return f"{title} noticed at once by {error}."
    if noticed.after_ms < 0:
        return f"{title} gave up on it {_length(-noticed.after_ms)} before its end by {error}."
    return f"{title} noticed {_length(noticed.after_ms)} later by {error}."


def _length(length_ms: float) -> str:
    return milliseconds(length_ms) if length_ms < 1000 else seconds(length_ms / 1000)


def _without_name(message: str, title: str) -> str:
    return message.removeprefix(f"{title.capitalize()}: ")
