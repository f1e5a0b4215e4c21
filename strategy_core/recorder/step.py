"""One step as the program sees it: where its input ends, and what came out of it.

It is the `with` block that `Recorder.step` gives, too, and what its line is made of: after a step
the caches have forgotten Python's code, so every object and every call of a function counts.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

import numpy as np
import tensorflow as tf

from profiles.capture.xspace import INPUT_EVENT
from profiles.events import Event


class Around(Protocol):
    """What is told of a step's begin and end: the recorder."""

    def enter_step(self, step: RecordedStep) -> None: ...

    def leave_step(self, step: RecordedStep, *raised: Any) -> None: ...


class RecordedStep:
    """Handed out by `Recorder.step()`; tells the recorder what only the program knows."""

    __slots__ = (
        "_around",
        "_begin_ns",
        "_lasted",
        "captured",
        "events",
        "examples",
        "input_ms",
        "loss",
        "marks_ns",
        "segment",
        "start_ns",
        "step",
        "wall_ms",
    )

    def __init__(self, number: int, segment: int = 0, around: Around | None = None) -> None:
        self.step = number
        self.segment = segment
        self._around = around
        self.examples: int | None = None
        self.events: list[Event] | None = None
        """What else is to be recorded of it."""
        self.loss: Any = None
        """A float once the step has ended, if there is one."""
        self.marks_ns: Any = None
        """[[inputs ready, gradients ready, reduced]] per replica once the step has ended."""
        self.input_ms: float | None = None
        self._lasted: tuple[int, float] | None = None
        self.captured = False
        self.start_ns = self._begin_ns = 0

    @property
    def number(self) -> int:
        return self.step

    def __enter__(self) -> Self:
        if self._around is not None:
            self._around.enter_step(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._around is not None:
            self._around.leave_step(self, *raised)

    def begin(self) -> None:
        """The step begins now; `start_ns` is the wall clock since the epoch."""
        self.start_ns, self._begin_ns = time.time_ns(), time.monotonic_ns()

    def input(self) -> AbstractContextManager[None]:
        """Around asking for the batch: the host time in which the step waited for it."""
        return _Asking(self)

    def asked(self, took_ns: int) -> None:
        """It took so long to have the batch, or a part of it."""
        self.input_ms = (self.input_ms or 0.0) + took_ns / 1e6

    def result(self, *, loss: Any = None, marks: Any = None, examples: int | None = None) -> None:
        """What the step gave: a scalar loss, and per replica its marks (int64 ns).

        Tensors are welcome: they are read when the step ends, which waits for them.
        """
        self.loss, self.marks_ns = loss, marks
        if examples is not None:
            self.examples = examples

    def tell(self, event: Event) -> None:
        """Have an event recorded behind the step's own."""
        self.events = [*(self.events or ()), event]

    def lasted(self, start_ns: int, wall_ms: float) -> None:
        """It began and ended elsewhere: then (wall clock), and this long after."""
        self._lasted = start_ns, wall_ms

    def end(self) -> None:
        """The step ends when its result is there."""
        loss, marks = self.loss, self.marks_ns
        if loss is not None and type(loss) is not float:
            self.loss = float(np.asarray(loss))
        if marks is not None and not _is_plain(marks):
            self.marks_ns = np.asarray(marks, np.int64).tolist()
        self.wall_ms = (time.monotonic_ns() - self._begin_ns) / 1e6
        if self._lasted is not None:
            self.start_ns, self.wall_ms = self._lasted


def _is_plain(marks: Any) -> bool:
    """Whether these are lists of numbers already."""
    return type(marks) is list and type(marks[0]) is list and type(marks[0][0]) is int


class _Asking:
    """`RecordedStep.input` as a `with` block, without a generator: it is entered in every step."""

    __slots__ = ("_begin_ns", "_shown", "_step")

    def __init__(self, step: RecordedStep) -> None:
        self._step = step
        self._shown = tf.profiler.experimental.Trace(INPUT_EVENT) if step.captured else None

    def __enter__(self) -> None:
        self._begin_ns = time.monotonic_ns()
        if self._shown is not None:
            self._shown.__enter__()

    def __exit__(self, *raised: Any) -> None:
        if self._shown is not None:
            self._shown.__exit__(*raised)
        self._step.asked(time.monotonic_ns() - self._begin_ns)
