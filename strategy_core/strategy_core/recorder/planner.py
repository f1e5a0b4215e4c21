"""Decides when to capture: as often as the overhead budget allows, and once early.

The cost of recording is measured, not assumed. It consists of: starting and stopping the profiler;
the conversion; how much slower a window's steps, and the one step after them, were than the steps
before; writing every step down; the segment's graph; starting a converter process. A window begins
when the cost so far plus the expected cost of the window fits into the budget's share of the run's
time so far. The first window of a segment is small and comes as soon as steps take their usual
time; three short ones follow after some seconds (`DUE_MS`); later windows wait until all are paid
for. A run that ends before that exceeds its budget: its `capture` summary shows the real share.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Sequence

EARLY_STEP = 2
"""Steps of a segment before its first window, at least: one that traces, and one to settle."""
SETTLED_STEPS = 20
"""Steps before the first window of a segment of known length. A process's first steps take longer
than its later ones (allocator, thread pools, imports of the converter): on two busy cores, steps 2
to 4 took 1.4 times as long as the other steps of their run if captured, steps 24 to 27 0.94 times
(medians of 12 and 11 runs). A short segment is captured from its middle on."""
SETTLED_MS = 1000.0
"""Longer steps are captured once the segment's steps after the first one took this long."""
EARLY_NUM_STEPS = 5
FEWEST_EARLY_STEPS = 3
FEWEST_LATER_STEPS = 10
"""Steps captured after the first window, from which on windows have their full length. The first
window is in the warm-up of most programs; short ones after it are paid for sooner."""
_EARLY_MS = 100.0
"""Approximate length of the first window.

Its cost takes about a hundred times as long to pay for.
"""
DUE_MS = (3_000.0, 10_000.0, 30_000.0)
"""Time of a segment's steps after which a short window comes whatever was spent so far, with a
budget of `_USUAL_BUDGET`. The first window may find what later steps do not: full input buffers,
for one. A run of half a minute had no other, since 1 % of that pays for one window."""
_USUAL_BUDGET = 0.01
QUIET_STEP_MS = 1000.0
"""Shorter steps are disturbed by background work, and the early window over them ends soon."""
_RECENT_STEPS = 32
_OUTLIER = 3.0
"""A step that took this many times the median was delayed by something other than recording."""
_UNLIKE = 0.5
_BRIEF_MS = 50.0
"""Windows of steps that take a few ms are this long: five such steps vary too much, and the input
has made the batches of the first ones while the profiler started."""
_MOST_STEPS_OF_SHORT = 20
"""Steps of a window at most that goes on because it is brief, or because its steps took less than
this part of the others."""
_SHARE_OF_WINDOWS = 0.1
"""Share of the budget that is reserved for windows.

It applies when steps are so short that writing them down alone would use up the budget.
"""
_NOT_TIMED = 2.0
"""A step's record costs this many times what the recorder's own clocks measure of it."""
LONGEST_REST_MS = 1000.0
_LONGEST_EARLY_MS = 10_000.0
_LONGEST_BACK_TO_BACK_MS = 1000.0
"""Longest window when every step is captured, and so the delay of the live page."""


class WindowPlanner:
    """Decides before each step whether a window begins with it. All times are in milliseconds."""

    def __init__(
        self,
        overhead_budget: float,
        window_steps: int,
        every_step: bool,
        due_ms: Sequence[float] = DUE_MS,
    ) -> None:
        self.overhead_budget = overhead_budget
        self.window_steps = window_steps
        self.every_step = every_step
        self._due_ms = due_ms
        self.elapsed_ms = 0.0
        self.spent_ms = 0.0
        """Cost of windows and of what they need."""
        self.recording_ms = 0.0
        """Cost of writing steps down."""
        self._cost_per_step_ms: float | None = None
        self._convert_ms = 0.0
        self._bare: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._in_window: list[float] = []
        self._is_after_window = False
        self._steps_of_segment = 0
        self._early_step = EARLY_STEP
        self._settling_ms = 0.0
        """Time of the segment's steps after the first one, until its first window."""
        self._wants_early = True
        self._is_first = True
        self._num_later = 0
        """Steps captured in windows of the segment after its first one."""
        self._segment_ms = 0.0
        """Time of the segment's steps so far."""
        self._num_due = 0
        """Times of `DUE_MS` that have had their window."""

    def open_segment(self, *, is_warm: bool = False, num_steps: float = 0) -> None:
        """Start over for a new configuration, whose steps differ from those measured so far.

        Args:
          is_warm: whether the first step neither traces nor warms up.
          num_steps: steps until the segment ends, infinite if it runs until stopped; 0 if not
            known, so that its first window comes as early as possible.
        """
        self._early_step = int(min(SETTLED_STEPS, max(EARLY_STEP, num_steps / 2)))
        self._settling_ms = 0.0
        self._bare.clear()
        self._steps_of_segment = EARLY_STEP if is_warm else 0
        self._wants_early = True
        self._is_first = True
        self._num_later = 0
        self._segment_ms = 0.0
        self._num_due = 0

    def steps_to_capture(self) -> int:
        """Number of steps of a window that would begin now; 0 for no window."""
        if self._steps_of_segment < EARLY_STEP:
            return 0
        if self.every_step:
            return self._back_to_back_steps()
        if self._is_settling:
            return 0
        if self._wants_early:
            return min(EARLY_NUM_STEPS, self.window_steps, self._affordable_early())
        # `_short_ms` is positive until the first window is converted: the cost of another is
        # unknown.
        if self._cost_per_step_ms is not None and self._until_due_ms() <= 0:
            return min(EARLY_NUM_STEPS, self.window_steps)
        return self._later_steps if self._short_ms() <= 0 else 0

    def _until_due_ms(self) -> float:
        """Time until the next window of `DUE_MS`; infinite after the last one."""
        if self._num_due == len(self._due_ms):
            return math.inf
        return self._due_ms[self._num_due] * _USUAL_BUDGET / self.overhead_budget - self._segment_ms

    @property
    def _later_steps(self) -> int:
        """Length of a window that is not the segment's first."""
        is_short = self._num_later < FEWEST_LATER_STEPS
        return min(EARLY_NUM_STEPS, self.window_steps) if is_short else self.window_steps

    @property
    def _is_settling(self) -> bool:
        """Whether the first window is to come, and steps may not take their usual time yet."""
        is_early = self._steps_of_segment < self._early_step and self._settling_ms < SETTLED_MS
        return self._wants_early and is_early

    @property
    def rest_ms(self) -> float:
        """Lower bound for the time until a window can begin."""
        is_opening = self._steps_of_segment < EARLY_STEP or self._is_settling
        if is_opening or self._is_after_window or self.steps_to_capture():
            return 0.0
        paid_ms = max(0.0, self._short_ms()) / self.overhead_budget
        return min(LONGEST_REST_MS, paid_ms, self._until_due_ms())

    def _short_ms(self) -> float:
        """Cost so far plus the expected cost of one more window, less what the budget allows."""
        if self._cost_per_step_ms is None:
            return LONGEST_REST_MS
        brief_steps = min(_MOST_STEPS_OF_SHORT, _BRIEF_MS / max(self.typical_ms, 1e-3))
        num_steps = max(self._later_steps, brief_steps)
        expected = self._cost_per_step_ms * num_steps + self._convert_ms
        budget = self.overhead_budget * self.elapsed_ms
        allowed = max(budget - self.recording_ms, budget * _SHARE_OF_WINDOWS)
        return self.spent_ms + expected - allowed

    @property
    def is_first_view_near(self) -> bool:
        """Whether the segment's first window is still to come, or is open and ends soon.

        Background work that can wait is postponed until then, so that this window shows normal
        steps.
        """
        if self._steps_of_segment < EARLY_STEP:
            return True
        return self._is_first and self.typical_ms < QUIET_STEP_MS

    def step_done(self, wall_ms: float, captured: bool) -> None:
        self.elapsed_ms += wall_ms
        self._segment_ms += wall_ms
        self._steps_of_segment += 1
        # The first step of a segment is left out of `_bare`: it is mostly tracing.
        if captured:
            self._in_window.append(wall_ms)
            self._num_later += not self._is_first
        elif self._is_after_window:  # slower, because the profiler's events fill the caches
            self.spent_ms += self._longer([wall_ms])
        elif self._steps_of_segment > 1:
            self._bare.append(wall_ms)
            self._settling_ms += wall_ms
        self._is_after_window = False

    def passed(self, walls_ms: Sequence[float]) -> None:
        """Replaces `step_done` for the steps of a rest, in which no window can begin."""
        self.elapsed_ms += sum(walls_ms)
        self._segment_ms += sum(walls_ms)
        self._bare.extend(walls_ms)

    def step_written(self, took_ms: float) -> None:
        """Add the time spent on writing a step down, outside of the step and of windows."""
        self.recording_ms += took_ms * _NOT_TIMED

    def owe(self, cost_ms: float) -> None:
        """Add the cost of something that windows need: a graph, a converter process."""
        self.spent_ms += cost_ms

    def window_begun(self) -> None:
        self._is_first = self._wants_early
        self._wants_early = False
        self._num_due += self._until_due_ms() <= 0
        self._in_window.clear()

    def needs_another_step(self) -> bool:
        """Whether a full window goes on: it is brief, or too few steps are as long as others.

        While the profiler starts, the input makes batches ahead, and the first captured steps find
        them: four of 10 ms in a program whose other steps wait 36 ms for a batch.
        """
        ours_ms = self._in_window
        if self.every_step or not self._bare or len(ours_ms) >= _MOST_STEPS_OF_SHORT:
            return False
        if sum(ours_ms) < _BRIEF_MS:
            return True
        least_ms = _UNLIKE * statistics.median(self._bare)
        later_ms = ours_ms[1:]  # the first one has the start of the profiler
        num_alike = sum(ms >= least_ms for ms in later_ms)
        num_short = len(later_ms) - num_alike
        return num_short >= FEWEST_EARLY_STEPS and num_alike < FEWEST_EARLY_STEPS

    def window_stopped(self, profiler_ms: float) -> float:
        """Record the end of a window. Returns its cost so far: profiler time and slower steps."""
        self._is_first = False
        cost = profiler_ms + self._longer(self._in_window)
        self.spent_ms += cost
        self._is_after_window = True
        return cost

    def window_converted(self, cost_ms: float, convert_ms: float, num_steps: int) -> None:
        """Record the end of a window's conversion; `cost_ms` is the result of `window_stopped`.

        `convert_ms` is CPU time of another process. It counts in full, as in the run's summary,
        because the training could have used that processor.
        """
        self.spent_ms += convert_ms
        self._cost_per_step_ms = cost_ms / max(num_steps, 1)
        # Not divided by the steps: a segment's first conversion has few, but also reads the graph.
        self._convert_ms = convert_ms

    def _longer(self, steps_ms: Sequence[float]) -> float:
        """How much longer these steps took in total than as many uncaptured ones; at least 0.

        Compares means, because the loss of a few slow steps counts. Outliers are capped: recording
        does not cause them.
        """
        if not self._bare or not steps_ms:
            return 0.0
        most = _OUTLIER * statistics.median(self._bare)
        bare, ours = (
            statistics.fmean(min(step, most) for step in steps) for steps in (self._bare, steps_ms)
        )
        return max(ours - bare, 0.0) * len(steps_ms)

    @property
    def typical_ms(self) -> float:
        """Expected length of the next step: the median of recent ones, or a guess before the
        first."""
        seen = self._bare or self._in_window
        return statistics.median(seen) if seen else _LONGEST_BACK_TO_BACK_MS

    def _back_to_back_steps(self) -> int:
        """Length of a window when every step is captured: more than `window_steps` if steps are
        short.

        Each window has a fixed cost, so longer windows are cheaper per step.
        """
        fitting = int(_LONGEST_BACK_TO_BACK_MS / max(self.typical_ms, 1e-3))
        return max(self.window_steps, min(100, fitting))

    def _affordable_early(self) -> int:
        """Length of the first window: fewer steps if they are long.

        If steps take seconds the window is so short that the first view still appears within
        seconds.
        """
        if not self._bare:
            return EARLY_NUM_STEPS
        usual_ms = max(statistics.median(self._bare), 1e-3)
        fitting = max(FEWEST_EARLY_STEPS, int(_EARLY_MS / usual_ms))
        return max(1, min(fitting, int(_LONGEST_EARLY_MS / usual_ms)))
