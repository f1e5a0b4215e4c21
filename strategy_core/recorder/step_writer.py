"""Steps are written down a few at a time, by a thread of its own, while the next ones are computed.

Between two steps Python is cold: to write a line there takes fifteen times as long as in a loop.
So a step only leaves what it has, and the line is made a moment later, together with others'. What
is not on disk yet, `WRITE_EVERY_S` of steps at most, a `kill -9` takes with it; a hung step, or an
error, does not.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque

from strategy_core.recorder.step import RecordedStep
from strategy_lab.profiles.run.event_log import EventLog, line_of, line_of_step
from strategy_lab.profiles.run.events import Event

WRITE_EVERY_S = 0.05


class StepWriter:
    """Writes one worker's event log: steps when it comes to them, other events at once.

    Events keep the order in which they were passed.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._steps: deque[RecordedStep] = deque()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._took_ns = 0
        self.is_closed = False

    def leave(self, step: RecordedStep) -> None:
        """A step is done, and soon on disk; raises the RunFolderError of steps before it, once."""
        if self._error is not None:
            self._raise()
        self._steps.append(step)
        if self._thread is None:
            self._thread = threading.Thread(
                target=_write_on, args=(weakref.ref(self),), name="step_writer", daemon=True
            )
            self._thread.start()

    def write(self, event: Event) -> None:
        """Append an event behind the steps so far; raises RunFolderError where the disk refuses it,
        or refused steps before it."""
        with self._lock:
            self._write_steps()
            self._log.write(event)
            self._raise()

    def close(self) -> None:
        """No step and no event comes after."""
        self.is_closed = True
        with self._lock:
            self._log.close()

    def catch_up(self) -> None:
        """Write all steps so far without waiting; the next step or event raises its error."""
        if not self._steps:
            return
        with self._lock:
            begin_ns = time.thread_time_ns()
            try:
                self._write_steps()
            except BaseException as error:
                self._error = error
            self._took_ns += time.thread_time_ns() - begin_ns

    def take_cost_ms(self) -> float:
        """Processor time that writing beside the steps took since it was last asked."""
        with self._lock:
            took_ns, self._took_ns = self._took_ns, 0
        return took_ns / 1e6

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _write_steps(self) -> None:
        lines: list[bytes] = []
        at_ns, next_line = self._log.now_ns(), self._log.next_line
        while self._steps:
            step = self._steps.popleft()
            step.settle()
            lines.append(line_of_step(step, at_ns, next_line()))
            lines += [line_of(event, at_ns, next_line()) for event in step.events or ()]
        if lines:
            self._log.append(lines)


def _write_on(owner: weakref.ref[StepWriter]) -> None:
    """What the thread does, until its step_writer is closed or garbage-collected."""
    while True:
        time.sleep(WRITE_EVERY_S)
        step_writer = owner()
        if step_writer is None or step_writer.is_closed:
            return
        step_writer.catch_up()
        del step_writer
