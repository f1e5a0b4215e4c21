"""The steps that one process wrote, as columns: a million of them fit into a reader's memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain

import numpy as np
import numpy.typing as npt

from strategy_lab.profiles.events import StepDone

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class StepColumns:
    """Fields of `events.StepDone`, one entry per step in the order in which they were written."""

    at_ns: Ints
    segment: Ints
    step: Ints
    start_ns: Ints
    wall_ms: Floats
    loss: Floats
    """NaN if the step has none."""
    examples: Ints
    """-1 if they are not known."""
    captured: Bools
    input_ms: Floats
    """NaN if it is not known."""
    num_marks: Ints
    """Replicas of the step that have light marks."""
    marks_ns: Ints
    """Shape `[num_marks.sum(), 3]`: inputs ready, gradients ready, reduced."""

    def __len__(self) -> int:
        return len(self.step)

    @classmethod
    def of(cls, steps: Sequence[StepDone]) -> StepColumns:
        """The columns of some steps."""
        marks = [step.marks_ns or () for step in steps]
        nan = float("nan")
        flat = chain.from_iterable(chain.from_iterable(marks))
        return cls(
            at_ns=_ints(step.at_ns for step in steps),
            segment=_ints(step.segment for step in steps),
            step=_ints(step.step for step in steps),
            start_ns=_ints(step.start_ns for step in steps),
            wall_ms=_floats(step.wall_ms for step in steps),
            loss=_floats(nan if step.loss is None else step.loss for step in steps),
            examples=_ints(UNKNOWN if step.examples is None else step.examples for step in steps),
            captured=np.fromiter((step.captured for step in steps), np.bool_),
            input_ms=_floats(nan if step.input_ms is None else step.input_ms for step in steps),
            num_marks=_ints(map(len, marks)),
            marks_ns=np.fromiter(flat, np.int64).reshape(-1, 3),
        )

    @classmethod
    def together(cls, parts: Sequence[StepColumns]) -> StepColumns:
        """The steps of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        every = parts or [cls.of(())]
        names = [column.name for column in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, np.int64)


def _floats(values: Iterable[float]) -> Floats:
    return np.fromiter(values, np.float64)
