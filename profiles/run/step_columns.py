"""The steps that one process wrote, as columns: a million of them fit into a reader's memory."""

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
    """Fields of `events.StepDone`, one entry per step in the order in which they were written."""

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
        flat = chain.from_iterable(chain.from_iterable(marks))
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
            num_marks=np.fromiter(map(len, marks), np.int64, len(marks)),
            marks_ns=np.fromiter(flat, np.int64).reshape(-1, NUM_MARKS),
        )

    def only(self, chosen: Bools) -> StepColumns:
        """The steps of a mask, with their marks."""
        of_mark = np.repeat(chosen, self.num_marks)
        names = [column.name for column in fields(self) if column.name != "marks_ns"]
        kept = {name: getattr(self, name)[chosen] for name in names}
        return StepColumns(**kept, marks_ns=self.marks_ns[of_mark])

    @classmethod
    def together(cls, parts: Sequence[StepColumns]) -> StepColumns:
        """The steps of all parts, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        every = parts or [cls.of(())]
        names = [column.name for column in fields(cls)]
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


def _ints(steps: Sequence[StepDone], name: str) -> Ints:
    return np.fromiter(map(attrgetter(name), steps), np.int64, len(steps))


def _ints_or_unknown(steps: Sequence[StepDone], name: str) -> Ints:
    try:
        return _ints(steps, name)
    except TypeError:  # one of them is None
        known = (UNKNOWN if (value := getattr(step, name)) is None else value for step in steps)
        return np.fromiter(known, np.int64, len(steps))


def _floats(steps: Sequence[StepDone], name: str) -> Floats:
    """NaN for None."""
    return np.array([*map(attrgetter(name), steps)], np.float64)
