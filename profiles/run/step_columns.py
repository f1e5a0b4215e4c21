"""The steps of one process as columns, compact enough for a million of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from operator import attrgetter

import numpy as np
import numpy.typing as npt

from strategy_lab.profiles.run.events import NUM_MARKS, StepDone

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class StepColumns:
    """The fields of `events.StepDone`, one entry per step in the order of the file."""

    at_ns: Ints
    line: Ints
    """0 in runs of earlier versions."""
    segment: Ints
    step: Ints
    start_ns: Ints
    wall_ms: Floats
    loss: Floats
    """NaN if the step has none."""
    examples: Ints
    """-1 if unknown."""
    captured: Bools
    input_ms: Floats
    """NaN if unknown."""
    num_marks: Ints
    """Number of replicas of the step that have marks."""
    marks_ns: Ints
    """Shape `[num_marks.sum(), 3]`: inputs ready, gradients ready, reduced."""

    def __len__(self) -> int:
        return len(self.step)

    @classmethod
    def of(cls, steps: Sequence[StepDone], marks: tuple[Ints, Ints] | None = None) -> StepColumns:
        """Return the columns of steps; `marks` are the columns `num_marks` and `marks_ns`, if they
        are known already."""
        num_marks, marks_ns = _marks(steps) if marks is None else marks
        return cls(
            at_ns=_ints(steps, "at_ns"),
            line=_ints(steps, "line"),
            segment=_ints(steps, "segment"),
            step=_ints(steps, "step"),
            start_ns=_ints(steps, "start_ns"),
            wall_ms=_floats(steps, "wall_ms"),
            loss=_floats(steps, "loss"),
            examples=_ints_or_unknown(steps, "examples"),
            captured=np.array([step.captured for step in steps], np.bool_),
            input_ms=_floats(steps, "input_ms"),
            num_marks=num_marks,
            marks_ns=marks_ns,
        )

    def only(self, chosen: Bools) -> StepColumns:
        """Return the steps selected by a mask, with their marks."""
        of_mark = np.repeat(chosen, self.num_marks)
        names = [column.name for column in fields(self) if column.name != "marks_ns"]
        kept = {name: getattr(self, name)[chosen] for name in names}
        return StepColumns(**kept, marks_ns=self.marks_ns[of_mark])

    @classmethod
    def together(cls, parts: Sequence[StepColumns]) -> StepColumns:
        """Concatenate the steps of all parts."""
        if len(parts) == 1:
            return parts[0]
        every = parts or [cls.of(())]
        names = [column.name for column in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


def _marks(steps: Sequence[StepDone]) -> tuple[Ints, Ints]:
    marks = [step.marks_ns or () for step in steps]
    flat = chain.from_iterable(chain.from_iterable(marks))
    num_marks = np.fromiter(map(len, marks), np.int64, len(marks))
    return num_marks, np.fromiter(flat, np.int64).reshape(-1, NUM_MARKS)


def _ints(steps: Sequence[StepDone], name: str) -> Ints:
    return np.fromiter(map(attrgetter(name), steps), np.int64, len(steps))


def _ints_or_unknown(steps: Sequence[StepDone], name: str) -> Ints:
    try:
        return _ints(steps, name)
    except TypeError:  # one of them is None
        known = (UNKNOWN if (value := getattr(step, name)) is None else value for step in steps)
        return np.fromiter(known, np.int64, len(steps))


def _floats(steps: Sequence[StepDone], name: str) -> Floats:
    """Return a column as floats; None becomes NaN."""
    return np.array([*map(attrgetter(name), steps)], np.float64)
