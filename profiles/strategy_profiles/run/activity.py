"""What a run that is not over is doing, derived from its events: the owner of that state.

`Status` says whether a run is over, and how it ended. An `Activity` says what happens until then,
in a state and a sentence, so that a page never shows a run as running whose steps have ceased.
"""

from __future__ import annotations

from enum import StrEnum, auto

from strategy_profiles.run.events import (
    CommandAnswered,
    CommandSent,
    EpochEnded,
    EpochEnding,
    Launched,
    PlacementRecorded,
    SegmentOpened,
    StepDone,
    WindowCaptured,
)
from strategy_profiles.run.tail import WrittenEvent

STARTING = "The processes import TensorFlow, connect and build the model."
RESTARTING = "New processes start from the last checkpoint."
TRACING = "Tracing and compiling the first step of this configuration."
CHANGING = "The change is prepared after the current step."
REPLACING = "New processes prepare the change and do its first step; training pauses."
STOPPING = "The current step ends, then the last records are written."
LOST = "A process has ended and no step has followed; the launcher looks for the cause."
READING_GRAPH = "Reading the graph of the step: which op runs on which device."
CAPTURING = "Capturing step {last} in full."
CONVERTING = "Converting the capture of {steps} while training continues."

VALIDATING = "Keras's fit validates after the last step of an epoch."
CALLING_BACK = "Keras's fit calls the callbacks' on_epoch_end."
BEGINNING_EPOCH = "Keras's fit waits for the first batch of the next epoch."

EPOCH_END_SHOWN_AFTER_NS = 500_000_000
"""A shorter end of an epoch would only make the state flicker."""
LATE_AFTER_STEPS = 4
LATE_AFTER_NS = 2_000_000_000
"""A step is late after four times the length of the one before, and two seconds at least."""


class ActivityState(StrEnum):
    """What a run that is not over is doing."""

    STARTING = auto()
    """Its processes start, or start again from a checkpoint."""
    COMPILING = auto()
    """The first step of its configuration is traced and compiled."""
    RUNNING = auto()
    BETWEEN_EPOCHS = "between-epochs"
    """Keras's `fit` validates or calls callbacks after the last step of an epoch."""
    CHANGING = auto()
    """A change was requested and is not answered yet."""
    STOPPING = auto()
    """Stop was requested."""
    LOST = auto()
    """One of its processes has ended, and steps have ceased."""


class Activity:
    """What one run is doing; `take` wants its events in order."""

    def __init__(self) -> None:
        self.last_step_ns: int | None = None
        """End of the last step; None before the first one."""
        self._step_ns = 0
        self._launched: tuple[int, int] | None = None
        """Generation and time of the leader's launch."""
        self._opened: tuple[int, int] | None = None
        """Generation and time of the last segment that the leader opened."""
        self._is_traced = False
        self._sent: dict[int, CommandSent] = {}
        """Commands without an answer."""
        self._stop_ns: int | None = None
        self._has_graph = True
        self._unconverted: tuple[int, int] | None = None
        """First and last captured step that no `WindowCaptured` has reported yet."""
        self._is_capturing = False
        self._epoch_ending: EpochEnding | None = None
        """What `fit` began to do after the last step of an epoch, until the next step."""

    def state(self, now_ns: int, *, has_lost_one: bool = False) -> ActivityState:
        """The state. `has_lost_one`: whether a process of the run has ended before its time."""
        if self._stop_ns is not None:
            return ActivityState.STOPPING
        if has_lost_one and self.is_late(now_ns):
            return ActivityState.LOST
        if self._sent:
            return ActivityState.CHANGING
        if not self._is_open:
            return ActivityState.STARTING
        if not self._is_traced:
            return ActivityState.COMPILING
        since_ns = now_ns - (self.last_step_ns or now_ns)
        is_shown = self._epoch_ending is not None and since_ns > EPOCH_END_SHOWN_AFTER_NS
        return ActivityState.BETWEEN_EPOCHS if is_shown else ActivityState.RUNNING

    def since_ns(self, state: ActivityState) -> int | None:
        """When the state began; None while the run is running, or if it is unknown."""
        match state:
            case ActivityState.STARTING:
                return self._launched[1] if self._launched else None
            case ActivityState.COMPILING:
                return self._opened[1] if self._opened else None
            case ActivityState.CHANGING:
                return min(command.at_ns for command in self._sent.values())
            case ActivityState.STOPPING:
                return self._stop_ns
            case ActivityState.LOST | ActivityState.BETWEEN_EPOCHS:
                return self.last_step_ns
            case ActivityState.RUNNING:
                return None

    def is_late(self, now_ns: int) -> bool:
        """Whether the next step is overdue; True before the first one."""
        return self.last_step_ns is None or now_ns - self.last_step_ns > self.late_after_ns

    @property
    def late_after_ns(self) -> int:
        """Age of the last step from which on the next one is overdue."""
        return max(LATE_AFTER_NS, LATE_AFTER_STEPS * self._step_ns)

    def text(self, state: ActivityState, *, are_new_processes_starting: bool = False) -> str | None:
        """A sentence; None while there are only steps."""
        if state is ActivityState.BETWEEN_EPOCHS and self._epoch_ending is not None:
            return _AT_EPOCH_END[self._epoch_ending.doing]
        if state in (ActivityState.RUNNING, ActivityState.BETWEEN_EPOCHS):
            return self._beside_steps()
        if state is ActivityState.STARTING and self.last_step_ns is not None:
            return RESTARTING
        if state is ActivityState.CHANGING and are_new_processes_starting:
            return REPLACING
        if state is ActivityState.CHANGING and not self._is_traced:
            return TRACING
        return _SENTENCES[state]

    def take(self, written: WrittenEvent) -> None:
        """Update from an event of the leader, worker 0, or of a launcher."""
        event = written.event
        if written.worker is None:
            self._take_from_launcher(written)
        if written.worker:
            return
        match event:
            case SegmentOpened():
                self._is_traced = self._has_graph = False
                self._opened = written.generation or 0, event.at_ns
                self._unconverted = self._epoch_ending = None
            case EpochEnding():
                self._epoch_ending = event
            case EpochEnded():
                self._epoch_ending = None
            case StepDone():
                self._is_traced = True
                self._epoch_ending = None
                self._step_ns = int(event.wall_ms * 1e6)
                self.last_step_ns = event.start_ns + self._step_ns
                self._note_capture(event)
            case PlacementRecorded():
                self._has_graph = True
            case WindowCaptured(first_step=first, num_steps=number):
                self._end_window(first + number)
            case CommandAnswered(number=number, command=command, status=status):
                self._sent.pop(number, None)
                if command == "stop":
                    self._stop_ns = (self._stop_ns or event.at_ns) if status == "applied" else None

    def _take_from_launcher(self, written: WrittenEvent) -> None:
        event = written.event
        if isinstance(event, CommandSent) and event.command == "stop":
            self._stop_ns = self._stop_ns or event.at_ns
        elif isinstance(event, CommandSent):
            self._sent[event.number] = event
        elif isinstance(event, Launched) and not event.worker:
            self._launched = event.generation, event.at_ns
            if not self._is_open:  # a restart: no process is left that could answer
                self._sent.clear()

    @property
    def _is_open(self) -> bool:
        """Whether the leader's latest process has opened a segment."""
        launched = self._launched[0] if self._launched else 0
        return self._opened is not None and self._opened[0] >= launched

    def _note_capture(self, step: StepDone) -> None:
        self._is_capturing = step.captured
        if step.captured:
            first = self._unconverted[0] if self._unconverted else step.step
            self._unconverted = (first, step.step)

    def _beside_steps(self) -> str | None:
        """What the run does besides its steps. On a busy machine each takes seconds."""
        if self._unconverted:
            first, last = self._unconverted
            if self._is_capturing:
                return CAPTURING.format(last=last)
            steps = f"step {last}" if first == last else f"steps {first} to {last}"
            return CONVERTING.format(steps=steps)
        return None if self._has_graph else READING_GRAPH

    def _end_window(self, after: int) -> None:
        """Drop the steps before `after`: their conversion has ended, in tables or an error."""
        if self._unconverted:
            first, last = self._unconverted
            self._unconverted = (max(first, after), last) if last >= after else None


_AT_EPOCH_END = {
    "validation": VALIDATING,
    "callbacks": CALLING_BACK,
    "next_epoch": BEGINNING_EPOCH,
}
_SENTENCES = {
    ActivityState.STARTING: STARTING,
    ActivityState.COMPILING: TRACING,
    ActivityState.CHANGING: CHANGING,
    ActivityState.STOPPING: STOPPING,
    ActivityState.LOST: LOST,
}
