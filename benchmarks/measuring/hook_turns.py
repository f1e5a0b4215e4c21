"""Steps of one program in turns within its process: as `trace` records them, and as they are alone.

Two processes that do the same differ by 20 % on a busy machine, two turns of one process that
follow each other by much less.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

from strategy_core.recorder.step_writer import WRITE_EVERY_S
from strategy_core.tracing.lookup import Lookup

WARM_UP_S = WRITE_EVERY_S * 1.2
"""By then the steps of the turn before are written, and those of this one as often as later."""
TURN_S = 0.2


class Hooks:
    """The hooks of a traced process, which can be taken out and put back."""

    def __init__(self) -> None:
        kinds = [kind for kind in gc.get_objects() if isinstance(kind, type)]
        self._places = [
            (kind, name, hook)
            for kind in kinds
            for name, hook in vars(kind).items()
            if isinstance(hook, Lookup)
        ]

    def put(self, *, are_in: bool) -> None:
        """Put the hooks into their classes, or TensorFlow's and Keras's own methods."""
        for kind, name, hook in self._places:
            setattr(kind, name, hook if are_in else hook.__wrapped__)


@dataclass(frozen=True, slots=True)
class Turn:
    """What the steps of a turn took, on average."""

    wall_ms: float
    cpu_ms: float
    """Processor time of the process, all threads."""
    thread_ms: float
    """The same of the training's thread alone."""
    has_work: bool
    """Whether a capture or its conversion was under way."""


class HookTurns:
    """Measures turns; call `step_done` at the end of each step.

    Each turn begins with steps that are not measured. The number of steps is the same in all turns,
    so that the processes of a cluster change sides together.

    Args:
      hooks: of this process, in place when the first turn begins.
      step_ms: about how long a step is.
      has_work: whether a capture or its conversion is under way.
    """

    def __init__(self, hooks: Hooks, step_ms: float, has_work: Callable[[], bool]) -> None:
        self._hooks, self._has_work_now = hooks, has_work
        self._num_skipped = max(5, round(WARM_UP_S * 1e3 / step_ms))
        self._num_measured = max(5, round(TURN_S * 1e3 / step_ms))
        self.traced: list[Turn] = []
        self.alone: list[Turn] = []
        self._is_traced = True
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._num_steps, self._has_work = 0, False
        self._began: tuple[float, ...] = ()

    def step_done(self) -> None:
        self._num_steps += 1
        self._has_work |= self._has_work_now()
        if self._num_steps == self._num_skipped:
            self._began = _clocks()
        if self._num_steps < self._num_skipped + self._num_measured:
            return
        spent = zip(self._began, _clocks(), strict=True)
        wall_ms, cpu_ms, thread_ms = [
            (end - begin) * 1e3 / self._num_measured for begin, end in spent
        ]
        side = self.traced if self._is_traced else self.alone
        side.append(Turn(wall_ms, cpu_ms, thread_ms, self._has_work))
        # traced, alone, alone, traced, ...: a drift favours neither side
        self._is_traced = (len(self.traced) + len(self.alone)) % 4 in (0, 3)
        self._hooks.put(are_in=self._is_traced)
        self._begin_turn()

    def pairs(self) -> list[tuple[Turn, Turn]]:
        """A traced turn and its neighbour alone each, without those in which a capture was."""
        both = zip(self.traced, self.alone, strict=False)
        return [pair for pair in both if not any(turn.has_work for turn in pair)]


def _clocks() -> tuple[float, float, float]:
    return time.perf_counter(), time.process_time(), time.thread_time()
