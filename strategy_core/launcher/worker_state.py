"""What a worker process is doing, as its launcher sees it. Drawn in docs/processes.md.

The launcher learns of a worker through three channels that are not synchronized: records in the
worker's event file, messages in its pipe, and the operating system. The table therefore allows the
orders in which they can arrive: a worker that fails says so in its pipe before it writes the steps
since its last write, so a step may follow a failure. The launcher reads a worker's records before
it acts on one of its messages, and a worker writes its last record before it says `done`.
"""

from __future__ import annotations

from enum import StrEnum, auto


class WorkerState(StrEnum):
    """State of one worker process."""

    STARTING = auto()
    """It was given the run and has written nothing: it imports TensorFlow."""
    OPENING = auto()
    """It builds and traces the first step of a segment, or starts TensorFlow's server."""
    RUNNING = auto()
    """The first step of its segment is done."""
    SERVING = auto()
    """It executes what the coordinator sends, until it has to leave."""
    CLOSING = auto()
    """It has obeyed Stop and converts its last captures."""
    FINISHED = auto()
    """It has written its last record."""
    DONE = auto()
    """It has written its last record, and waits for Leave because peers may still need it."""
    FAILED = auto()
    """It has reported an error and is ending."""
    REPLACED = auto()
    """A fresh process has taken over from it."""
    ENDED = auto()
    """Its process has ended as it should."""
    LOST = auto()
    """Its process has ended before its work was done."""


class WorkerEvent(StrEnum):
    """What the launcher can learn of a worker, or do to it."""

    WROTE = auto()
    """Its first record, whatever that is."""
    SEGMENT_OPENED = auto()
    STEP_DONE = auto()
    STOP_APPLIED = auto()
    """Its answer to Stop."""
    WROTE_FINISHED = auto()
    """Its `finished` record."""
    SAID_DONE = auto()
    """Its message that it may leave at any time."""
    FAILURE = auto()
    """Its message or record of an error."""
    HANDED_OVER = auto()
    """The launcher: a fresh process does its work."""
    NOT_NEEDED = auto()
    """The launcher: the run is over before this process was ready to serve."""
    EXITED = auto()
    """The operating system: the process and its descendants have ended."""


_S, _E = WorkerState, WorkerEvent
GONE = frozenset({_S.ENDED, _S.LOST})
"""States of a process that has ended."""

TRANSITIONS: dict[tuple[WorkerState, WorkerEvent], WorkerState] = {
    (_S.STARTING, _E.WROTE): _S.OPENING,
    (_S.STARTING, _E.FAILURE): _S.FAILED,
    (_S.STARTING, _E.NOT_NEEDED): _S.FINISHED,
    (_S.STARTING, _E.HANDED_OVER): _S.REPLACED,
    (_S.STARTING, _E.EXITED): _S.LOST,
    (_S.OPENING, _E.SEGMENT_OPENED): _S.OPENING,
    (_S.OPENING, _E.STEP_DONE): _S.RUNNING,
    (_S.OPENING, _E.STOP_APPLIED): _S.CLOSING,
    (_S.OPENING, _E.WROTE_FINISHED): _S.FINISHED,
    (_S.OPENING, _E.SAID_DONE): _S.SERVING,
    (_S.OPENING, _E.FAILURE): _S.FAILED,
    (_S.OPENING, _E.NOT_NEEDED): _S.FINISHED,
    (_S.OPENING, _E.HANDED_OVER): _S.REPLACED,
    (_S.OPENING, _E.EXITED): _S.LOST,
    (_S.RUNNING, _E.SEGMENT_OPENED): _S.OPENING,
    (_S.RUNNING, _E.STEP_DONE): _S.RUNNING,
    (_S.RUNNING, _E.STOP_APPLIED): _S.CLOSING,
    (_S.RUNNING, _E.WROTE_FINISHED): _S.FINISHED,
    (_S.RUNNING, _E.FAILURE): _S.FAILED,
    (_S.RUNNING, _E.HANDED_OVER): _S.REPLACED,
    (_S.RUNNING, _E.EXITED): _S.LOST,
    (_S.SERVING, _E.WROTE_FINISHED): _S.DONE,
    (_S.SERVING, _E.FAILURE): _S.FAILED,
    (_S.SERVING, _E.HANDED_OVER): _S.REPLACED,
    (_S.SERVING, _E.EXITED): _S.LOST,
    (_S.CLOSING, _E.WROTE_FINISHED): _S.FINISHED,
    (_S.CLOSING, _E.FAILURE): _S.FAILED,
    (_S.CLOSING, _E.HANDED_OVER): _S.REPLACED,
    (_S.CLOSING, _E.EXITED): _S.LOST,
    # What happens to a worker after its last record changes nothing about its work.
    (_S.FINISHED, _E.SAID_DONE): _S.DONE,
    (_S.FINISHED, _E.FAILURE): _S.FINISHED,
    (_S.FINISHED, _E.NOT_NEEDED): _S.FINISHED,
    (_S.FINISHED, _E.HANDED_OVER): _S.REPLACED,
    (_S.FINISHED, _E.EXITED): _S.ENDED,
    (_S.DONE, _E.FAILURE): _S.DONE,
    (_S.DONE, _E.HANDED_OVER): _S.REPLACED,
    (_S.DONE, _E.EXITED): _S.ENDED,
    (_S.FAILED, _E.STEP_DONE): _S.FAILED,
    # A record can be read before a message that was sent earlier.
    (_S.FAILED, _E.SAID_DONE): _S.FAILED,
    (_S.FAILED, _E.FAILURE): _S.FAILED,
    (_S.FAILED, _E.NOT_NEEDED): _S.FINISHED,
    (_S.FAILED, _E.HANDED_OVER): _S.REPLACED,
    (_S.FAILED, _E.EXITED): _S.LOST,
    # A replaced worker closes its files, or fails at that: the run goes on elsewhere.
    (_S.REPLACED, _E.SEGMENT_OPENED): _S.REPLACED,
    (_S.REPLACED, _E.STEP_DONE): _S.REPLACED,
    (_S.REPLACED, _E.STOP_APPLIED): _S.REPLACED,
    (_S.REPLACED, _E.WROTE_FINISHED): _S.REPLACED,
    (_S.REPLACED, _E.SAID_DONE): _S.REPLACED,
    (_S.REPLACED, _E.FAILURE): _S.REPLACED,
    (_S.REPLACED, _E.EXITED): _S.ENDED,
    # It may end between the first step of the fresh group and the launcher's reading of that.
    (_S.ENDED, _E.HANDED_OVER): _S.ENDED,
    (_S.LOST, _E.HANDED_OVER): _S.ENDED,
}
