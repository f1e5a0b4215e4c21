"""Writes steps to the event log in small batches, in a background thread.

Between two steps Python's code is cold: writing a line there takes fifteen times as long as in a
loop. So a step is only queued, and its line is written a moment later together with others. A `kill
-9` loses the steps that are not on disk yet, at most `WRITE_EVERY_S` of them. A hung step or an
error loses none.

A step's result may be a tensor of a program (`RecordedStep.is_of_program`). Only the background
thread reads it: in a thread of the program that would wait for the device, and an error of the
program's own would be raised in the lab's code. Events after such a step wait with it.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections import deque
from contextlib import suppress

from strategy_core.recorder.step import RecordedStep
from strategy_core.runtime import kept_lock
from strategy_profiles.errors import RunFolderError
from strategy_profiles.run.event_log import EventLog, line_of, line_of_step
from strategy_profiles.run.events import Event, Note

WRITE_EVERY_S = 0.05
LAST_RESULTS_S = 10.0
"""How long `close` waits for results that the program's devices still compute."""
_RESULTS_LEFT_OUT = Note(
    "warning",
    f"The losses of the last steps are unknown: they were not computed {LAST_RESULTS_S:g} s after "
    "the end",
)


class StepWriter:
    """Writes one worker's event log: steps in the background, other events at once.

    Events keep the order in which they were passed in.
    """

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._queue: deque[RecordedStep | Event] = deque()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._took_ns = 0
        self.hurry = threading.Event()
        """Set to have the thread write at once."""
        self.is_closed = False

    def leave(self, step: RecordedStep) -> None:
        """Queue a finished step. Raises the RunFolderError of earlier steps, once."""
        if self._error is not None:
            self._raise()
        self._queue.append(step)
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
            self._queue.append(event)
            try:
                self._write_known()
            except BaseException as error:
                self._error = error
            if self._error is not None:
                self._raise()

    def close(self) -> None:
        """Wait a while for results that are still being computed, write what is known, and close
        the log.

        Steps whose results have not come by then are written without them. No step or event may
        follow.
        """
        ends_s = time.monotonic() + LAST_RESULTS_S
        while self._queue and self._is_read_on() and time.monotonic() < ends_s:
            self.hurry.set()
            time.sleep(0.002)
        self.is_closed = True
        self.hurry.set()
        with self._lock:
            unwritten = [each for each in self._queue if isinstance(each, RecordedStep)]
            if any(each.is_of_program for each in unwritten):
                self._queue.append(_RESULTS_LEFT_OUT)
            for each in unwritten:
                each.leave_result()
            with suppress(RunFolderError):
                self._write_known()
            self._log.close()
        if self._error is not None and not isinstance(self._error, RunFolderError):
            self._raise()

    def catch_up(self) -> None:
        """Write all that is queued. An error is kept, and raised by the next step or event."""
        begin_ns = time.thread_time_ns()
        try:
            self._read_results()
            with self._lock:
                try:
                    self._write_known()
                finally:
                    self._took_ns += time.thread_time_ns() - begin_ns
        except BaseException as error:
            self._error = error

    @property
    def has_queued(self) -> bool:
        return bool(self._queue)

    def take_cost_ms(self) -> float:
        """Processor time that the background thread spent on writing since the last call."""
        with self._lock:
            took_ns, self._took_ns = self._took_ns, 0
        return took_ns / 1e6

    def _is_read_on(self) -> bool:
        return self._thread is not None and self._thread.is_alive() and self._error is None

    def _raise(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _read_results(self) -> None:
        """Read the results of programs. Without the lock: it may wait for a device, and no thread
        of the program may wait for that."""
        for at in range(len(self._queue)):
            try:
                each = self._queue[at]
            except IndexError:  # another thread has written some
                return
            if isinstance(each, RecordedStep) and each.is_of_program:
                try:
                    each.settle()
                finally:
                    each.leave_result()

    def _write_known(self) -> None:
        """Write what is queued before the first step whose result has to be read from the
        program."""
        lines: list[bytes] = []
        at_ns, next_line = self._log.now_ns(), self._log.next_line
        while self._queue:
            each = self._queue[0]
            if isinstance(each, RecordedStep) and each.is_of_program:
                break
            self._queue.popleft()
            if isinstance(each, RecordedStep):
                each.settle()
                lines += [line_of_step(part, at_ns, next_line()) for part in each.parts()]
                lines += [line_of(event, at_ns, next_line()) for event in each.events or ()]
            else:
                lines.append(line_of(each, at_ns, next_line()))
        if lines:
            self._log.append(lines)


def _write_on(owner: weakref.ref[StepWriter]) -> None:
    """Body of the thread; ends when the step writer is closed or garbage-collected."""
    step_writer = owner()
    hurry = None if step_writer is None else step_writer.hurry
    del step_writer
    while hurry is not None:
        kept_lock.wait(hurry, WRITE_EVERY_S)
        hurry.clear()
        step_writer = owner()
        if step_writer is None or step_writer.is_closed:
            return
        if step_writer.has_queued:
            step_writer.catch_up()
        del step_writer
