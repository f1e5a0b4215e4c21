"""When to capture: as often as the overhead budget allows, and once early so that there is a view.

What recording costs is measured: starting and stopping the profiler, the conversion, how much
slower a window's steps, and the one after them, ran than those before; writing every step down;
the segment's graph; a converter that had to be started. All of it is owed. A window is begun when
what is owed, and what one more is expected to take, is within the budget's share of the run's time
so far. The first window of a segment comes early and is small; later ones wait until it is paid
for. A run that ends before that was too short for its budget: its `capture` summary says what share
it really cost.
"""

from __future__ import annotations

import statistics
from collections import deque
from collections.abc import Sequence

EARLY_STEP = 2
"""Steps of a segment before its first window: tracing, and one to settle."""
EARLY_NUM_STEPS = 5
FEWEST_EARLY_STEPS = 3
_EARLY_MS = 100.0
"""The first window is about so long: what it costs is owed for a hundred times as long."""
QUIET_STEP_MS = 1000.0
"""Steps shorter than this are disturbed by what runs beside them, and soon over."""
_RECENT_STEPS = 32
_OUTLIER = 3.0
"""A step that took so many times the usual was held up by something else."""
_SHARE_OF_WINDOWS = 0.1
"""At least this share of the budget is for windows, where steps are so short that writing them down
alone takes more than the rest."""
_NOT_TIMED = 2.0
"""A step's record costs so many times what the recorder's own clocks see of it."""
LONGEST_REST_MS = 1000.0
_LONGEST_EARLY_MS = 10_000.0
_LONGEST_BACK_TO_BACK_MS = 1000.0
"""The page is that far behind, at most, where every step is captured."""


class WindowPlanner:
    """Says before each step whether a window begins with it. All times are in milliseconds."""

    def __init__(self, overhead_budget: float, window_steps: int, every_step: bool) -> None:
        self.overhead_budget = overhead_budget
        self.window_steps = window_steps
        self.every_step = every_step
        self.elapsed_ms = 0.0
        self.spent_ms = 0.0
        """By windows, and by what has to be there for them."""
        self.recording_ms = 0.0
        """By writing steps down."""
        self._cost_per_step_ms: float | None = None
        self._convert_ms = 0.0
        self._bare: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._in_window: list[float] = []
        self._is_after_window = False
        self._steps_of_segment = 0
        self._wants_early = True
        self._is_first = True

    def open_segment(self) -> None:
        """A new configuration: its steps cost something else, and nothing of it was seen yet."""
        self._bare.clear()
        self._steps_of_segment = 0
        self._wants_early = True
        self._is_first = True

    def steps_to_capture(self) -> int:
        """How many steps a window that begins now should have; 0 for none."""
        if self._steps_of_segment < EARLY_STEP:
            return 0
        if self.every_step:
            return self._back_to_back_steps()
        if self._wants_early:
            return min(EARLY_NUM_STEPS, self.window_steps, self._affordable_early())
        # The cost of a window is unknown until the first one is converted.
        return self.window_steps if self._short_ms() <= 0 else 0

    @property
    def rest_ms(self) -> float:
        """For so long, at least, no window can begin."""
        is_opening = self._steps_of_segment < EARLY_STEP
        if is_opening or self._is_after_window or self.steps_to_capture():
            return 0.0
        return min(LONGEST_REST_MS, max(0.0, self._short_ms()) / self.overhead_budget)

    def _short_ms(self) -> float:
        """What is owed, one more window included, beyond what the budget allows."""
        if self._cost_per_step_ms is None:
            return LONGEST_REST_MS
        expected = self._cost_per_step_ms * self.window_steps + self._convert_ms
        budget = self.overhead_budget * self.elapsed_ms
        allowed = max(budget - self.recording_ms, budget * _SHARE_OF_WINDOWS)
        return self.spent_ms + expected - allowed

    @property
    def is_first_view_near(self) -> bool:
        """Whether the segment's first window is still to come, or open, and soon done.

        What can wait waits for it: it is to show steps as they usually are.
        """
        if self._steps_of_segment < EARLY_STEP:
            return True
        return self._is_first and self.typical_ms < QUIET_STEP_MS

    def step_done(self, wall_ms: float, captured: bool) -> None:
        self.elapsed_ms += wall_ms
        self._steps_of_segment += 1
        # The first step is tracing, not training.
        if captured:
            self._in_window.append(wall_ms)
        elif self._is_after_window:  # it finds the caches full of the profiler's events
            self.spent_ms += self._longer([wall_ms])
        elif self._steps_of_segment > 1:
            self._bare.append(wall_ms)
        self._is_after_window = False

    def passed(self, walls_ms: Sequence[float]) -> None:
        """In place of `step_done`, for the steps of a rest."""
        self.elapsed_ms += sum(walls_ms)
        self._bare.extend(walls_ms)

    def step_written(self, took_ms: float) -> None:
        """What it took to write a step down, beside the step and beside windows."""
        self.recording_ms += took_ms * _NOT_TIMED

    def owe(self, cost_ms: float) -> None:
        """What was spent on something that windows need: a graph, a converter."""
        self.spent_ms += cost_ms

    def window_begun(self) -> None:
        self._is_first = self._wants_early
        self._wants_early = False
        self._in_window.clear()

    def window_stopped(self, profiler_ms: float) -> float:
        """A window ended. Returns what it cost so far: profiler and slower steps."""
        self._is_first = False
        cost = profiler_ms + self._longer(self._in_window)
        self.spent_ms += cost
        self._is_after_window = True
        return cost

    def window_converted(self, cost_ms: float, convert_ms: float, num_steps: int) -> None:
        """Its conversion is done; `cost_ms` is what `window_stopped` returned.

        `convert_ms` is CPU time of a process beside the training. It counts in full, as in what
        the run's summary tells: it may have been the training's.
        """
        self.spent_ms += convert_ms
        self._cost_per_step_ms = cost_ms / max(num_steps, 1)
        # Not by its steps: a segment's first conversion has few, but reads the graph as well.
        self._convert_ms = convert_ms

    def _longer(self, steps_ms: Sequence[float]) -> float:
        """How much longer these steps took together than as many bare ones; 0 if they did not.

        Means, because what a few steps lose counts; without outliers, which captures do not cause.
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
        """How long the next step should take, from those of late; a guess before there are any."""
        seen = self._bare or self._in_window
        return statistics.median(seen) if seen else _LONGEST_BACK_TO_BACK_MS

    def _back_to_back_steps(self) -> int:
        """More short steps at a time than asked for: a window has costs of its own."""
        fitting = int(_LONGEST_BACK_TO_BACK_MS / max(self.typical_ms, 1e-3))
        return max(self.window_steps, min(100, fitting))

    def _affordable_early(self) -> int:
        """Fewer steps where they are long, and so few where one takes seconds that the first view
        is there in seconds."""
        slowest = max(self._bare, default=0.0)
        if not slowest:
            return EARLY_NUM_STEPS
        fitting = max(FEWEST_EARLY_STEPS, int(_EARLY_MS / slowest))
        return max(1, min(fitting, int(_LONGEST_EARLY_MS / slowest)))
