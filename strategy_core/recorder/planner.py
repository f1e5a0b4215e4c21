"""When to capture: as often as the overhead budget allows, and once early so that there is a view.

What a window costs is measured: starting and stopping the profiler, the conversion, and how much
slower its steps ran than those before it. A window is begun when all that has been spent, and what
one more is expected to take, is within the budget's share of the run's time so far. The first
window of a segment comes early and is small; later ones wait until it is paid for. A run that ends
before that was too short for its budget: its `capture` summary says what share it really cost.
"""

from __future__ import annotations

import statistics
from collections import deque

EARLY_STEP = 2
"""Steps of a segment before its first window: tracing, and one to settle."""
EARLY_NUM_STEPS = 5
_RECENT_STEPS = 32
_LONGEST_EARLY_MS = 10_000.0
_LONGEST_BACK_TO_BACK_MS = 1000.0
"""The page is that far behind, at most, where every step is captured."""


class WindowPlanner:
    """Says before each step whether a window begins with it. All times are in milliseconds."""

    def __init__(
        self, overhead_budget: float, window_steps: int, every_step: bool, num_cpus: int = 1
    ) -> None:
        self.overhead_budget = overhead_budget
        self.window_steps = window_steps
        self.every_step = every_step
        self._num_cpus = num_cpus
        self.elapsed_ms = 0.0
        self.spent_ms = 0.0
        self._cost_per_step_ms: float | None = None
        self._bare: deque[float] = deque(maxlen=_RECENT_STEPS)
        self._in_window: list[float] = []
        self._steps_of_segment = 0
        self._wants_early = True

    def open_segment(self) -> None:
        """A new configuration: its steps cost something else, and nothing of it was seen yet."""
        self._bare.clear()
        self._steps_of_segment = 0
        self._wants_early = True

    def steps_to_capture(self) -> int:
        """How many steps a window that begins now should have; 0 for none."""
        if self._steps_of_segment < EARLY_STEP:
            return 0
        if self.every_step:
            return self._back_to_back_steps()
        if self._wants_early:
            return min(EARLY_NUM_STEPS, self.window_steps, self._affordable_early())
        if self._cost_per_step_ms is None:
            return 0  # the first one is not converted yet: what it costs is not known
        expected = self._cost_per_step_ms * self.window_steps
        allowed = self.overhead_budget * self.elapsed_ms
        return self.window_steps if self.spent_ms + expected <= allowed else 0

    def step_done(self, wall_ms: float, captured: bool) -> None:
        self.elapsed_ms += wall_ms
        self._steps_of_segment += 1
        # The first step is tracing, not training.
        if captured:
            self._in_window.append(wall_ms)
        elif self._steps_of_segment > 1:
            self._bare.append(wall_ms)

    def window_begun(self) -> None:
        self._wants_early = False
        self._in_window.clear()

    def window_stopped(self, profiler_ms: float) -> float:
        """A window ended. Returns what it cost so far: profiler and slower steps."""
        slower = 0.0
        if self._bare and self._in_window:
            each = statistics.median(self._in_window) - statistics.median(self._bare)
            slower = max(each, 0.0) * len(self._in_window)
        cost = profiler_ms + slower
        self.spent_ms += cost
        return cost

    def window_converted(self, cost_ms: float, convert_ms: float, num_steps: int) -> None:
        """Its conversion is done; `cost_ms` is what `window_stopped` returned.

        `convert_ms` is CPU time of a process beside the training: it costs the run that time of
        one CPU among all.
        """
        shared_ms = convert_ms / self._num_cpus
        self.spent_ms += shared_ms
        self._cost_per_step_ms = (cost_ms + shared_ms) / max(num_steps, 1)

    def _back_to_back_steps(self) -> int:
        """More short steps at a time than asked for: a window has costs of its own."""
        seen = self._bare or self._in_window
        typical = statistics.median(seen) if seen else _LONGEST_BACK_TO_BACK_MS
        return max(self.window_steps, min(100, int(_LONGEST_BACK_TO_BACK_MS / max(typical, 1e-3))))

    def _affordable_early(self) -> int:
        """Fewer steps where a step takes seconds, so that the first view is there in seconds."""
        slowest = max(self._bare, default=0.0)
        return max(1, int(_LONGEST_EARLY_MS / slowest)) if slowest else EARLY_NUM_STEPS
