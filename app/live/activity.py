"""What a run is busy with besides its steps, in words: derived from the events that have come.

On a busy machine each of these takes seconds, in which a viewer sees no step, or slow ones.
"""

from __future__ import annotations

from strategy_lab.profiles.run.events import (
    PlacementRecorded,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_lab.profiles.run.tail import Told

TRACING = "Tracing and compiling the first step of this configuration."
READING_GRAPH = "Reading the graph of the step: which op runs on which device."
CAPTURING = "Capturing step {last} in full."
CONVERTING = "Converting the capture of {steps} while training continues."


class Activity:
    """Of one run; takes the leader's events in order."""

    def __init__(self) -> None:
        self._is_traced = True
        self._has_graph = True
        self._captured: list[int] = []
        """First and last captured step whose window is not in its tables yet."""
        self._is_capturing = False

    @property
    def text(self) -> str | None:
        """A sentence; None while there are only steps."""
        if not self._is_traced:
            return TRACING
        if self._captured:
            first, last = self._captured
            if self._is_capturing:
                return CAPTURING.format(last=last)
            steps = f"step {last}" if first == last else f"steps {first} to {last}"
            return CONVERTING.format(steps=steps)
        return None if self._has_graph else READING_GRAPH

    def take(self, told: Told) -> None:
        """Note an event; those of other workers than the leader say nothing of the run's."""
        if told.worker:
            return
        match told.event:
            case SegmentOpened():
                self._is_traced = self._has_graph = False
                self._captured = []
            case StepDone(step=step, captured=captured):
                self._is_traced = True
                self._is_capturing = captured
                if captured:
                    self._captured = [self._captured[0] if self._captured else step, step]
            case PlacementRecorded():
                self._has_graph = True
            case WindowCaptured(first_step=first, num_steps=number):
                self._end_window(first + number)

    def _end_window(self, after: int) -> None:
        """The steps before `after` are in their tables, or never will be."""
        if self._captured:
            first, last = self._captured
            self._captured = [max(first, after), last] if last >= after else []
