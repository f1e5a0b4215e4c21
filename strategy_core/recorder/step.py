"""One step as the program sees it: where its input ends, and what came out of it."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import tensorflow as tf

from profiles.capture.xspace import INPUT_EVENT
from profiles.events import Event


class RecordedStep:
    """Handed out by `Recorder.step()`; tells the recorder what only the program knows."""

    def __init__(self, number: int, segment: int = 0) -> None:
        self.number = number
        self.segment = segment
        self.examples: int | None = None
        self.events: list[Event] = []
        """What else is to be recorded of it."""
        self.loss: float | None = None
        self.marks_ns: list[list[int]] | None = None
        self.start_ns = 0
        """Wall clock, since the epoch."""
        self.wall_ms = 0.0
        self._begin_ns = 0
        self._input_ns: int | None = None
        self._result: tuple[Any, Any] = (None, None)
        self._is_captured = False

    def begin(self, is_captured: bool) -> None:
        """The step begins now."""
        self._is_captured = is_captured
        self.start_ns, self._begin_ns = time.time_ns(), time.monotonic_ns()

    def input(self) -> AbstractContextManager[None]:
        """Around asking for the batch: the host time in which the step waited for it."""
        return _Asking(self, self._is_captured)

    def asked(self, took_ns: int) -> None:
        """It took so long to have the batch, or a part of it."""
        self._input_ns = (self._input_ns or 0) + took_ns

    def result(self, *, loss: Any = None, marks: Any = None, examples: int | None = None) -> None:
        """What the step gave: a scalar loss, and per replica its marks (int64 ns).

        Tensors are welcome: they are read when the step ends, which waits for them.
        """
        self._result = loss, marks
        if examples is not None:
            self.examples = examples

    def tell(self, event: Event) -> None:
        """Have an event recorded behind the step's own."""
        self.events.append(event)

    def end(self) -> None:
        """The step ends when its result is there."""
        loss, marks = self._result
        self.loss = None if loss is None else float(np.asarray(loss))
        if marks is not None:
            self.marks_ns = np.asarray(marks, np.int64).tolist()
        self.wall_ms = (time.monotonic_ns() - self._begin_ns) / 1e6

    @property
    def input_ms(self) -> float | None:
        return None if self._input_ns is None else self._input_ns / 1e6


class _Asking:
    """`RecordedStep.input` as a `with` block, without a generator: it is entered in every step."""

    __slots__ = ("_begin_ns", "_shown", "_step")

    def __init__(self, step: RecordedStep, is_captured: bool) -> None:
        self._step = step
        self._shown = tf.profiler.experimental.Trace(INPUT_EVENT) if is_captured else None

    def __enter__(self) -> None:
        self._begin_ns = time.monotonic_ns()
        if self._shown is not None:
            self._shown.__enter__()

    def __exit__(self, *raised: Any) -> None:
        if self._shown is not None:
            self._shown.__exit__(*raised)
        self._step.asked(time.monotonic_ns() - self._begin_ns)
