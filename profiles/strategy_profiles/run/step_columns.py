"""The steps of one process as columns, compact enough for a million of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from msgspec import Struct

from strategy_profiles.run.column_ranges import Range, is_within, ranges_of
from strategy_profiles.run.events import NUM_MARKS, StepDone
from strategy_profiles.run.field_columns import (
    Bools,
    Floats,
    Ints,
    floats_of,
    ints_of,
    ints_or_unknown_of,
)
from strategy_profiles.spec.limits import MOST_REPLICAS


class StepColumns(Struct, frozen=True):
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
            at_ns=ints_of(steps, "at_ns"),
            line=ints_of(steps, "line"),
            segment=ints_of(steps, "segment"),
            step=ints_of(steps, "step"),
            start_ns=ints_of(steps, "start_ns"),
            wall_ms=floats_of(steps, "wall_ms"),
            loss=floats_of(steps, "loss"),
            examples=ints_or_unknown_of(steps, "examples"),
            captured=np.array([step.captured for step in steps], np.bool_),
            input_ms=floats_of(steps, "input_ms"),
            num_marks=num_marks,
            marks_ns=marks_ns,
        )

    @property
    def is_in_range(self) -> bool:
        """Whether columns from elsewhere have only values that those of `events.StepDone` can
        have."""
        return int(self.num_marks.sum()) == len(self.marks_ns) and all(
            is_within(getattr(self, name), allowed) for name, allowed in _RANGES.items()
        )

    def only(self, chosen: Bools) -> StepColumns:
        """Return the steps selected by a mask, with their marks."""
        of_mark = np.repeat(chosen, self.num_marks)
        names = [name for name in self.__struct_fields__ if name != "marks_ns"]
        kept = {name: getattr(self, name)[chosen] for name in names}
        return StepColumns(**kept, marks_ns=self.marks_ns[of_mark])

    def in_order(self, order: Ints) -> StepColumns:
        """Return the steps at these places, in this order, with their marks."""
        num_marks = self.num_marks[order]
        first = (np.cumsum(self.num_marks) - self.num_marks)[order]
        index = np.arange(num_marks.sum()) - np.repeat(np.cumsum(num_marks) - num_marks, num_marks)
        names = [name for name in self.__struct_fields__ if name != "marks_ns"]
        kept = {name: getattr(self, name)[order] for name in names}
        return StepColumns(**kept, marks_ns=self.marks_ns[np.repeat(first, num_marks) + index])

    @classmethod
    def together(cls, parts: Sequence[StepColumns]) -> StepColumns:
        """Concatenate the steps of all parts."""
        if len(parts) == 1:
            return parts[0]
        every = parts or [cls.of(())]
        names = cls.__struct_fields__
        return cls(*(np.concatenate([getattr(part, name) for part in every]) for name in names))


_RANGES = {"num_marks": Range(0, MOST_REPLICAS, False), **ranges_of(StepDone)}


def _marks(steps: Sequence[StepDone]) -> tuple[Ints, Ints]:
    marks = [step.marks_ns or () for step in steps]
    flat = chain.from_iterable(chain.from_iterable(marks))
    num_marks = np.fromiter(map(len, marks), np.int64, len(marks))
    return num_marks, np.fromiter(flat, np.int64).reshape(-1, NUM_MARKS)
