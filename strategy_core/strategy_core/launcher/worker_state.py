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
    """The process has the run's spec and has written nothing yet: it imports TensorFlow."""
    OPENING = auto()
    """Building and tracing the first step of a segment, or starting TensorFlow's server."""
    RUNNING = auto()
    """The first step of the segment is done."""
    SERVING = auto()
    """Executing what the coordinator sends, until Leave."""
    CLOSING = auto()
    """Stop was applied; the last captures are being converted."""
    FINISHED = auto()
    """The last record is written."""
    DONE = auto()
    """The last record is written. The process waits for Leave, since peers may still need it."""
    FAILED = auto()
    """The process has reported an error and is ending."""
    REPLACED = auto()
    """A fresh process has taken over."""
    ENDED = auto()
    """The process has ended as expected."""
    LOST = auto()
    """The process has ended before its work was done."""


class WorkerEvent(StrEnum):
    """An event of a worker process, or an action of the launcher on it."""

    WROTE = auto()
    """The first record of any kind."""
    SEGMENT_OPENED = auto()
    STEP_DONE = auto()
    STOP_APPLIED = auto()
    """The process answered that it has applied Stop."""
    WROTE_FINISHED = auto()
    """The `finished` record."""
    SAID_DONE = auto()
    """The message `done`: the process may leave at any time."""
    FAILURE = auto()
    """A message or record of an error."""
    HANDED_OVER = auto()
    """The launcher has given the work to a fresh process."""
    NOT_NEEDED = auto()
    """The launcher ends the process: the run is over before it was ready to serve."""
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
