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
    """What one run is busy with; `take` wants its events in order."""

    def __init__(self) -> None:
        self._is_traced = True
        self._has_graph = True
        self._unconverted: tuple[int, int] | None = None
        """First and last captured step that no `WindowCaptured` has reported yet."""
        self._is_capturing = False

    @property
    def text(self) -> str | None:
        """A sentence; None while there are only steps."""
        if not self._is_traced:
            return TRACING
        if self._unconverted:
            first, last = self._unconverted
            if self._is_capturing:
                return CAPTURING.format(last=last)
            steps = f"step {last}" if first == last else f"steps {first} to {last}"
            return CONVERTING.format(steps=steps)
        return None if self._has_graph else READING_GRAPH

    def take(self, told: Told) -> None:
        """Update from an event of worker 0, the leader; those of other workers are ignored."""
        if told.worker:
            return
        match told.event:
            case SegmentOpened():
                self._is_traced = self._has_graph = False
                self._unconverted = None
            case StepDone(step=step, captured=captured):
                self._is_traced = True
                self._is_capturing = captured
                if captured:
                    first = self._unconverted[0] if self._unconverted else step
                    self._unconverted = (first, step)
            case PlacementRecorded():
                self._has_graph = True
            case WindowCaptured(first_step=first, num_steps=number):
                self._end_window(first + number)

    def _end_window(self, after: int) -> None:
        """Drop the steps before `after`: their conversion has ended, in tables or an error."""
        if self._unconverted:
            first, last = self._unconverted
            self._unconverted = (max(first, after), last) if last >= after else None
