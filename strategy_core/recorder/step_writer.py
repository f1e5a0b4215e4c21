"""Writes steps to the event log in small batches, in a background thread.

Between two steps Python's code is cold: writing a line there takes fifteen times as long as in a
loop. So a step is only queued, and its line is written a moment later together with others. A `kill
-9` loses the steps that are not on disk yet, at most `WRITE_EVERY_S` of them. A hung step or an
error loses none.
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
    """Writes one worker's event log: steps in the background, other events at once.

    Events keep the order in which they were passed in.
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
        """Queue a finished step. Raises the RunFolderError of earlier steps, once."""
        if self._error is not None:
            self._raise()
        self._steps.append(step)
        if self._thread is None:
            self._thread = threading.Thread(
                target=_write_on, args=(weakref.ref(self),), name="step_writer", daemon=True
            )
            self._thread.start()

    def write(self, event: Event) -> None:
        """Append an event behind the steps so far.

        Raises RunFolderError if the disk refuses it, or refused steps before it.
        """
        with self._lock:
            self._write_steps()
            self._log.write(event)
            self._raise()

    def close(self) -> None:
        """Close the log. No step or event may follow."""
        self.is_closed = True
        with self._lock:
            self._log.close()

    def catch_up(self) -> None:
        """Write all queued steps. An error is kept, and raised by the next step or event."""
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
        """Processor time that the background thread spent on writing since the last call."""
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
            lines += [line_of_step(part, at_ns, next_line()) for part in step.parts()]
            lines += [line_of(event, at_ns, next_line()) for event in step.events or ()]
        if lines:
            self._log.append(lines)


def _write_on(owner: weakref.ref[StepWriter]) -> None:
    """Body of the thread; ends when the step writer is closed or garbage-collected."""
    while True:
        time.sleep(WRITE_EVERY_S)
        step_writer = owner()
        if step_writer is None or step_writer.is_closed:
            return
        step_writer.catch_up()
        del step_writer
