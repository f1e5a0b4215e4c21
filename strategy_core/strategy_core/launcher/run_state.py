"""The state of a run, as its launcher sees it. Drawn in docs/processes.md."""

from __future__ import annotations

from enum import StrEnum, auto


class RunState(StrEnum):
    """State of a run: of its current process group, and of a fresh one that may replace it."""

    STARTING = auto()
    """The processes have not finished a first step yet."""
    RUNNING = auto()
    """The processes train."""
    CHANGING = auto()
    """A change needs other processes: a fresh group opens while the current one waits."""
    STOPPING = auto()
    """Stop was requested or the last step is done: the processes must end by a deadline."""
    ENDED = auto()
    """The processes have ended, and the exit reason is known."""


class RunEvent(StrEnum):
    """What changes the state of a run."""

    OPENED = auto()
    """A process of the current group has done its first step."""
    REPLACEMENT_REQUESTED = auto()
    """The current group cannot make a change by itself."""
    CANDIDATE_OPENED = auto()
    """The fresh group has done its first step, and takes over."""
    CANDIDATE_LOST = auto()
    """The fresh group could not start, or ended before its first step: the current one goes on."""
    STOP_REQUESTED = auto()
    LEADER_FINISHED = auto()
    """The leader has written its last record."""
    RESTARTED = auto()
    """A process was lost, and fresh ones begin at the last checkpoint."""
    GROUP_ENDED = auto()
    """All processes of the current group have ended."""


_S, _E = RunState, RunEvent

TRANSITIONS: dict[tuple[RunState, RunEvent], RunState] = {
    (_S.STARTING, _E.OPENED): _S.RUNNING,
    (_S.STARTING, _E.REPLACEMENT_REQUESTED): _S.CHANGING,
    (_S.STARTING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.STARTING, _E.LEADER_FINISHED): _S.STOPPING,
    (_S.STARTING, _E.RESTARTED): _S.STARTING,
    (_S.STARTING, _E.GROUP_ENDED): _S.ENDED,
    (_S.RUNNING, _E.OPENED): _S.RUNNING,
    (_S.RUNNING, _E.REPLACEMENT_REQUESTED): _S.CHANGING,
    (_S.RUNNING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.RUNNING, _E.LEADER_FINISHED): _S.STOPPING,
    (_S.RUNNING, _E.RESTARTED): _S.STARTING,
    (_S.RUNNING, _E.GROUP_ENDED): _S.ENDED,
    # The leader may request its replacement before its peers report their own first step.
    (_S.CHANGING, _E.OPENED): _S.CHANGING,
    (_S.CHANGING, _E.CANDIDATE_OPENED): _S.RUNNING,
    (_S.CHANGING, _E.CANDIDATE_LOST): _S.RUNNING,
    (_S.CHANGING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.CHANGING, _E.LEADER_FINISHED): _S.STOPPING,
    (_S.CHANGING, _E.RESTARTED): _S.STARTING,
    (_S.CHANGING, _E.GROUP_ENDED): _S.ENDED,
    # A request for a replacement may cross with Stop. Both groups get Stop, and whichever is the
    # current one ends the run.
    (_S.STOPPING, _E.OPENED): _S.STOPPING,
    (_S.STOPPING, _E.REPLACEMENT_REQUESTED): _S.STOPPING,
    (_S.STOPPING, _E.CANDIDATE_OPENED): _S.STOPPING,
    (_S.STOPPING, _E.CANDIDATE_LOST): _S.STOPPING,
    (_S.STOPPING, _E.STOP_REQUESTED): _S.STOPPING,
    (_S.STOPPING, _E.LEADER_FINISHED): _S.STOPPING,
    (_S.STOPPING, _E.GROUP_ENDED): _S.ENDED,
}
