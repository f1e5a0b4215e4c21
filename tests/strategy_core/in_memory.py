"""A recorder that keeps what it receives, for tests of what is trained rather than recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from strategy_core.recorder.step import StepResult
from strategy_core.training import state
from strategy_core.training.trainer import Training
from strategy_profiles.run.events import Event, SegmentOpened
from strategy_profiles.spec.run_spec import RunSpec


class InMemoryRecorder:
    """The part of the recorder's face that training uses."""

    def __init__(self) -> None:
        self.capture: Any = None
        self.segments: list[SegmentOpened] = []
        self.same_as: list[Sequence[int]] = []
        self.events: list[Event] = []
        self.losses: list[float] = []
        self.marks: list[Any] = []
        self.examples: list[int] = []

    def open_segment(
        self,
        segment: SegmentOpened,
        variables: Any = None,  # noqa: ARG002
        same_as: Sequence[int] = (),
        *,
        num_steps: float = 0,  # noqa: ARG002
    ) -> None:
        self.segments.append(segment)
        self.same_as.append(same_as)

    def write(self, event: Event) -> None:
        self.events.append(event)

    @contextmanager
    def step(self, examples: int | None = None) -> Iterator[InMemoryRecorder]:  # noqa: ARG002
        yield self

    def next_batch(self, batches: Iterator[Any]) -> Any:
        return next(batches)

    def result(self, *, loss: float, marks: Any = None, examples: int) -> None:
        self.losses.append(loss)
        self.marks.append(marks)
        self.examples.append(examples)

    def result_later(self, read: Callable[[], StepResult], examples: int) -> None:
        loss, marks = read()
        self.result(loss=loss, marks=marks, examples=examples)


def opened(**fields: Any) -> tuple[Training, InMemoryRecorder]:
    """A training that is open, and its recorder."""
    recorder = InMemoryRecorder()
    training = Training(RunSpec(**fields), recorder)
    training.open()
    return training, recorder


def run_steps(training: Training, count: int) -> None:
    """So many steps; raises what one of them raises."""
    for _ in range(count):
        training.run_step()


def trained(steps: int, **fields: Any) -> tuple[list[float], state.State]:
    """Losses and final state of a run of so many steps."""
    training, recorder = opened(**fields)
    run_steps(training, steps)
    training.close()
    return recorder.losses, training.take_state()
