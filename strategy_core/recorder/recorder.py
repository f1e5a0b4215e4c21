"""The recorder: every step's wall time, and now and then everything about a few of them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from profiles.event_log import EventLog
from profiles.events import (
    Event,
    Finished,
    SegmentOpened,
    StepDone,
    WindowCaptured,
    WorkerStarted,
)
from profiles.layout import WorkerFolder
from profiles.spec import Capture
from strategy_core.recorder.step import RecordedStep
from strategy_core.recorder.window import Window


class Recorder:
    """Writes one worker's folder. Used from the thread that runs the steps."""

    def __init__(
        self, folder: WorkerFolder, *, capture: Capture | None = None, log: EventLog | None = None
    ) -> None:
        self.folder = folder
        self.capture = capture or Capture()
        self._log = log or EventLog(folder.events)
        self._segment: SegmentOpened | None = None
        self._next_step = 0
        self._window: Window | None = None
        self._num_windows = 0
        self._closed = False
        self.write(WorkerStarted(folder.worker, os.getpid(), time.time_ns(), time.monotonic_ns()))

    def write(self, event: Event) -> None:
        """Append an event of one's own to the worker's log."""
        self._log.write(event)

    @property
    def next_step(self) -> int:
        """The number that the next step will have."""
        return self._next_step

    def open_segment(self, segment: SegmentOpened) -> None:
        """A configuration came into force; its first step is traced for its placement."""
        self._stop_window()
        self._segment = segment
        self._next_step = segment.first_step
        self.write(segment)

    @contextmanager
    def step(self, examples: int | None = None) -> Iterator[RecordedStep]:
        """Around one step, from asking for its batch until its result is there."""
        segment = self._segment
        assert segment is not None, "open_segment comes first"
        number = self._next_step
        step = RecordedStep(number, examples, time.monotonic_ns)
        with self._observed(number):
            start_ns, begin = time.time_ns(), time.monotonic_ns()
            yield step
            step.settle()
            wall_ms = (time.monotonic_ns() - begin) / 1e6
        self._next_step = number + 1
        captured = self._window is not None and self._window.error is None
        self.write(
            StepDone(
                segment.segment,
                number,
                start_ns,
                wall_ms,
                step.loss,
                step.examples,
                captured,
                step.input_ms,
                step.marks_ns,
            )
        )
        if self._window is not None and self._window.is_full:
            self._stop_window()

    def close(self, status: str) -> None:
        """Close the books: `finished` or `stopped`."""
        if self._closed:
            return
        self._closed = True
        self._stop_window()
        self.write(Finished(status, self._next_step))
        self._log.close()

    def _observed(self, number: int) -> AbstractContextManager[Any]:
        if self._window is None and self._wants_window(number):
            self._start_window(number)
        if self._window is None or self._window.error:
            return nullcontext()
        return self._window.annotate(number)

    def _wants_window(self, number: int) -> bool:
        assert self._segment is not None
        first = number == self._segment.first_step + 2
        return first or (self.capture.every_step and number > self._segment.first_step)

    def _start_window(self, number: int) -> None:
        assert self._segment is not None
        scratch = self.folder.path / f".window-{self._num_windows:06d}"
        self._window = Window(
            self._num_windows, self._segment.segment, number, self.capture.window_steps, scratch
        )
        self._num_windows += 1
        self._window.start()

    def _stop_window(self) -> None:
        window, self._window = self._window, None
        if window is None:
            return
        window.stop()
        self.write(
            WindowCaptured(
                window.number,
                window.segment,
                window.first_step,
                window.captured,
                self.folder.window(window.number).name,
                0,
                0,
                window.start_ms,
                window.stop_ms,
                0.0,
                None,
                window.error,
            )
        )
        window.discard()
