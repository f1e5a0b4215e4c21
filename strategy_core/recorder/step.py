"""One step as the program sees it: where its input ends, and what came out of it.

It is the `with` block that `Recorder.step` gives, too, and what its line is made of: after a step
the caches have forgotten Python's code, so every object and every call of a function counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

import numpy as np
import tensorflow as tf

from strategy_lab.profiles.capture import event_names
from strategy_lab.profiles.run.events import Event

Told = tuple[float, list[list[int]] | None]
"""A step's loss, and its marks."""


class Around(Protocol):
    """Receives step begin/end notifications; implemented by `Recorder`."""

    def enter_step(self, step: RecordedStep) -> None: ...

    def leave_step(self, step: RecordedStep, raised: tuple[Any, ...]) -> None: ...


class RecordedStep:
    """Handed out by `Recorder.step()`; tells the recorder what only the program knows."""

    # Defaults of the class: what most steps never set takes no time to set.
    examples: int | None = None
    events: list[Event] | None = None
    """What else is to be recorded of it."""
    loss: Any = None
    """A float once the step has ended, if there is one."""
    marks_ns: Any = None
    """[[inputs ready, gradients ready, reduced]] per replica once the step is settled."""
    captured = False
    start_ns = 0
    """The wall clock since the epoch."""
    begin_ns = end_ns = 0
    """On the monotonic clock."""
    _lasted_ms: float | None = None
    _read: Callable[[], Told] | None = None
    _asked_ns: int | None = None

    def __init__(self, number: int, segment: int = 0, around: Around | None = None) -> None:
        self.step = number
        self.segment = segment
        self._around = around

    @property
    def number(self) -> int:
        return self.step

    @property
    def wall_ms(self) -> float:
        """What it took, once it has ended."""
        if self._lasted_ms is not None:
            return self._lasted_ms
        return (self.end_ns - self.begin_ns) / 1e6

    @property
    def input_ms(self) -> float | None:
        """What the step waited for its batch; None where it was not told."""
        return None if self._asked_ns is None else self._asked_ns / 1e6

    def __enter__(self) -> Self:
        if self._around is not None:
            self._around.enter_step(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._around is not None:
            self._around.leave_step(self, raised)

    def input(self) -> AbstractContextManager[None]:
        """Around asking for the batch: the host time in which the step waited for it."""
        return _Asking(self)

    def ask(self, batches: Iterator[Any]) -> Any:
        """The next of the batches: `input` around that, in less time."""
        if self.captured:
            with self.input():
                return next(batches)
        begin_ns = time.monotonic_ns()
        batch = next(batches)
        self._asked_ns = (self._asked_ns or 0) + time.monotonic_ns() - begin_ns
        return batch

    def asked(self, took_ns: int) -> None:
        """It took so long to have the batch, or a part of it."""
        self._asked_ns = (self._asked_ns or 0) + took_ns

    def result(self, *, loss: Any = None, marks: Any = None, examples: int | None = None) -> None:
        """What the step gave: a scalar loss, and per replica its marks (int64 ns).

        Tensors are welcome: they are read when the step ends, which waits for them.
        """
        self.loss, self.marks_ns = loss, marks
        if examples is not None:
            self.examples = examples

    def result_later(self, read: Callable[[], Told], examples: int) -> None:
        """The same of what is on the host: read when the step is written down."""
        self._read, self.examples = read, examples

    def tell(self, event: Event) -> None:
        """Have an event recorded behind the step's own."""
        self.events = [*(self.events or ()), event]

    def lasted(self, start_ns: int, wall_ms: float) -> None:
        """It began and ended elsewhere: then (wall clock), and this long after."""
        self.start_ns, self._lasted_ms = start_ns, wall_ms

    def end(self) -> int:
        """The step ends when its result is there; returns when that was (monotonic clock)."""
        if self._read is None:
            if self.loss is not None and type(self.loss) is not float:
                self.loss = float(np.asarray(self.loss))
            if self.marks_ns is not None:
                self.marks_ns = np.asarray(self.marks_ns, np.int64).tolist()
        self.end_ns = time.monotonic_ns()
        return self.end_ns

    def settle(self) -> None:
        """Read what was left for when the step is written down: now."""
        if self._read is not None:
            self.loss, self.marks_ns = self._read()


class _Asking:
    """`RecordedStep.input` as a `with` block, without a generator: it is entered in every step."""

    __slots__ = ("_begin_ns", "_shown", "_step")

    def __init__(self, step: RecordedStep) -> None:
        self._step = step
        self._shown = tf.profiler.experimental.Trace(event_names.INPUT) if step.captured else None

    def __enter__(self) -> None:
        self._begin_ns = time.monotonic_ns()
        if self._shown is not None:
            self._shown.__enter__()

    def __exit__(self, *raised: Any) -> None:
        if self._shown is not None:
            self._shown.__exit__(*raised)
        self._step.asked(time.monotonic_ns() - self._begin_ns)
