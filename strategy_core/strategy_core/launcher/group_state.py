"""What the launcher does about the processes of a group. Drawn in docs/processes.md."""

from __future__ import annotations

from enum import StrEnum, auto


class GroupState(StrEnum):
    """State of the processes of one generation."""

    WATCHED = auto()
    """The launcher looks for processes that hang."""
    LOSING = auto()
    """A process was lost: the launcher waits for what the others report, to name the root cause."""
    ENDING = auto()
    """The launcher has killed all processes: an end after that is not a loss."""


class GroupEvent(StrEnum):
    """What changes the state of a group."""

    PROCESS_LOST = auto()
    LOSSES_REPLACED = auto()
    """Every lost process has been replaced by a fresh one."""
    KILLED = auto()
    """The launcher has killed all processes."""


_S, _E = GroupState, GroupEvent

TRANSITIONS: dict[tuple[GroupState, GroupEvent], GroupState] = {
    (_S.WATCHED, _E.PROCESS_LOST): _S.LOSING,
    (_S.WATCHED, _E.KILLED): _S.ENDING,
    (_S.LOSING, _E.PROCESS_LOST): _S.LOSING,
    (_S.LOSING, _E.LOSSES_REPLACED): _S.WATCHED,
    (_S.LOSING, _E.KILLED): _S.ENDING,
    (_S.ENDING, _E.KILLED): _S.ENDING,
}
