"""One step as the program sees it: where its input ends, and its result.

A `RecordedStep` is at once the `with` block that `Recorder.step` returns and the data of the step's
log line. After a step Python's code has left the processor's caches, so every further object and
every function call has a measurable cost (docs/decisions/recording.md).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, Self

import numpy as np
import tensorflow as tf

from strategy_profiles.capture import event_names
from strategy_profiles.run.events import Event, StepDone

StepResult = tuple[float, list[list[int]] | None]
"""A step's loss and its timestamps."""


class StepObserver(Protocol):
    """Receives step begin and end notifications; implemented by `Recorder`."""

    def enter_step(self, step: RecordedStep) -> None: ...

    def leave_step(self, step: RecordedStep, raised: tuple[Any, ...]) -> None: ...


class RecordedStep:
    """A step returned by `Recorder.step()`; takes the data that only the program knows."""

    # Class attributes as defaults: setting them per instance would cost time in every step.
    examples: int | None = None
    events: list[Event] | None = None
    """Further events to record behind the step's own."""
    loss: Any = None
    """A float once the step has ended, or None without a loss."""
    marks_ns: Any = None
    """[[inputs ready, gradients ready, reduced]] in ns per replica once the step is settled."""
    captured = False
    num_steps = 1
    """Steps of the program in this one: a call may do several of them on the device."""
    first_ended_ns: int | None = None
    """When the first of several steps ended (monotonic clock), if it alone is timed: it traces."""
    divided: Sequence[Callable[[RecordedStep], StepDone]] | None = None
    """The steps that this one turned out to be, if they are no equal parts of it."""
    start_ns = 0
    """Wall clock, ns since the epoch."""
    begin_ns = end_ns = 0
    """Monotonic clock, ns."""
    waited_ns: int | None = None
    """Time that the step waited for its batch; None if it was not measured."""
    ended_ns = 0
    """When the step ended (monotonic clock), if it is left later."""
    read: Callable[[], StepResult] | None = None
    """Reads loss and timestamps when the step is written, so that nothing waits for them."""
    is_of_program = False
    """Whether `read` reads tensors of a traced program, which only a thread of the lab's may."""
    _lasted_ms: float | None = None

    def __init__(self, number: int, segment: int = 0, observer: StepObserver | None = None) -> None:
        self.step = number
        self.segment = segment
        self.observer = observer

    @property
    def number(self) -> int:
        return self.step

    @property
    def wall_ms(self) -> float:
        """Duration of the step, once it has ended."""
        if self._lasted_ms is not None:
            return self._lasted_ms
        return (self.end_ns - self.begin_ns) / 1e6

    @property
    def input_ms(self) -> float | None:
        """Time that the step waited for its batch; None if it was not measured."""
        return None if self.waited_ns is None else self.waited_ns / 1e6

    def __enter__(self) -> Self:
        if self.observer is not None:
            self.observer.enter_step(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self.observer is not None:
            self.observer.leave_step(self, raised)

    def input(self) -> AbstractContextManager[None]:
        """Context manager around fetching the batch; measures the host time that the step waits for
        it."""
        return _BatchWait(self)

    def next_batch(self, batches: Iterator[Any]) -> Any:
        """Return the next batch; like `input` around `next(batches)`, but with less overhead."""
        if self.captured:
            with self.input():
                return next(batches)
        begin_ns = time.monotonic_ns()
        batch = next(batches)
        self.waited_ns = (self.waited_ns or 0) + time.monotonic_ns() - begin_ns
        return batch

    def add_wait(self, took_ns: int) -> None:
        """Add to the time that the step waited for its batch."""
        self.waited_ns = (self.waited_ns or 0) + took_ns

    def result(self, *, loss: Any = None, marks: Any = None, examples: int | None = None) -> None:
        """Set the step's result: a scalar loss, and the timestamps of each replica (int64 ns).

        Tensors are allowed. They are read when the step ends, which waits for them.
        """
        self.loss, self.marks_ns = loss, marks
        if examples is not None:
            self.examples = examples

    def result_later(self, read: Callable[[], StepResult], examples: int) -> None:
        """Like `result`, for values already on the host: `read` is called when the step is
        written."""
        self.read, self.examples = read, examples

    def result_of_program(self, read: Callable[[], StepResult]) -> None:
        """Like `result_later`, for tensors of a traced program: see `StepWriter`."""
        self.read, self.is_of_program = read, True

    def tell(self, event: Event) -> None:
        """Record an event behind the step's own."""
        self.events = [*(self.events or ()), event]

    def lasted(self, start_ns: int, wall_ms: float) -> None:
        """Set begin (wall clock) and duration of a step that ran elsewhere."""
        self.start_ns, self._lasted_ms = start_ns, wall_ms

    def began_at(self, start_ns: int, begin_ns: int) -> None:
        """Set when the entered step began, by the wall clock and the monotonic one, if that was
        earlier."""
        self.start_ns, self.begin_ns = start_ns, begin_ns

    def parts(self) -> Sequence[StepDone]:
        """What is written of this one: a step, or several.

        The steps of one call cannot be timed from outside, so each gets the same share of its
        time, or of the time after the first one. The result is that of the last.
        """
        if self.divided is not None:
            return [part(self) for part in self.divided]
        if self.num_steps == 1:
            return [
                StepDone(
                    self.segment,
                    self.step,
                    self.start_ns,
                    self.wall_ms,
                    self.loss,
                    self.examples,
                    self.captured,
                    self.input_ms,
                    self.marks_ns,
                )
            ]
        return [_equal_part(self, index) for index in range(self.num_steps)]

    def divide(self, parts: Sequence[Callable[[RecordedStep], StepDone]]) -> None:
        """Record these parts as steps, because they turned out not to be one."""
        self.divided, self.num_steps = parts, len(parts)

    def end(self) -> int:
        """End the step once its result is available. Returns the time of that (monotonic clock)."""
        if self.read is None:
            if self.loss is not None and type(self.loss) is not float:
                self.loss = float(np.asarray(self.loss))
            if self.marks_ns is not None:
                self.marks_ns = np.asarray(self.marks_ns, np.int64).tolist()
        self.end_ns = self.ended_ns or time.monotonic_ns()
        return self.end_ns

    def settle(self) -> None:
        """Read the values that `result_later` or `result_of_program` postponed."""
        if self.read is not None:
            self.loss, self.marks_ns = self.read()
            self.read, self.is_of_program = None, False

    def leave_result(self) -> None:
        """Go without a result of the program that has not been read."""
        if self.is_of_program:
            self.read, self.is_of_program = None, False


def _equal_part(call: RecordedStep, index: int) -> StepDone:
    """One step of a call that does several."""
    num_steps, first_ended_ns = call.num_steps, call.first_ended_ns
    if first_ended_ns is None:
        wall_ms = call.wall_ms / num_steps
        after_ms = index * wall_ms
    else:
        first_ms = (first_ended_ns - call.begin_ns) / 1e6
        equal_ms = (call.wall_ms - first_ms) / (num_steps - 1)
        wall_ms = equal_ms if index else first_ms
        after_ms = first_ms + (index - 1) * equal_ms if index else 0.0
    return StepDone(
        segment=call.segment,
        step=call.step + index,
        start_ns=call.start_ns + int(after_ms * 1e6),
        wall_ms=wall_ms,
        loss=call.loss if index == num_steps - 1 else None,
        examples=None if call.examples is None else call.examples // num_steps,
        input_ms=None if call.input_ms is None else call.input_ms / num_steps,
        captured=call.captured,
    )


class _BatchWait:
    """Context manager of `RecordedStep.input`. Not a generator: it is entered in every step."""

    __slots__ = ("_begin_ns", "_step", "_trace")

    def __init__(self, step: RecordedStep) -> None:
        self._step = step
        self._trace = tf.profiler.experimental.Trace(event_names.INPUT) if step.captured else None

    def __enter__(self) -> None:
        self._begin_ns = time.monotonic_ns()
        if self._trace is not None:
            self._trace.__enter__()

    def __exit__(self, *raised: Any) -> None:
        if self._trace is not None:
            self._trace.__exit__(*raised)
        self._step.add_wait(time.monotonic_ns() - self._begin_ns)
