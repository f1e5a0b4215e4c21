"""The steps of one process as columns, compact enough for a million of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from strategy_lab.profiles.run.events import NUM_MARKS, StepDone
from strategy_lab.profiles.spec.limits import MOST_REPLICAS

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


def are_in_range(steps: StepColumns) -> bool:
    """Return whether columns from elsewhere have only values that columns of `StepDone` can have.

    Compares each column with the range of its field (`events.StepDone`).
    """
    if int(steps.num_marks.sum()) != len(steps.marks_ns):
        return False
    columns = ((getattr(steps, name), limits) for name, limits in _LIMITS.items())
    return all(_is_within(values, *limits) for values, limits in columns)


def _is_within(values: npt.NDArray[Any], lowest: float, highest: float, may_lack: bool) -> bool:
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.dtype == np.float64 and may_lack:
        values = values[~np.isnan(values)]
    elif may_lack:
        lowest = UNKNOWN
    # A comparison with NaN, the minimum of values with NaN, is false.
    return not values.size or bool(values.min() >= lowest and values.max() <= highest)


def _limits_of(kind: Any) -> tuple[float, float, bool]:
    """Return the least and the greatest value of a field, and whether it may be missing."""
    may_lack = isinstance(kind, msgspec.inspect.UnionType)
    found = kind.types[0] if may_lack else kind
    if isinstance(found, msgspec.inspect.ListType):  # of marks, three times each
        mark: Any = found.item_type
        return _limits_of(mark.item_types[0])
    found = getattr(found, "type", found)
    if isinstance(found, msgspec.inspect.BoolType):
        return 0, 1, False
    lowest = -_LARGEST_FLOAT if found.ge is None else found.ge
    below = _LARGEST_FLOAT if found.lt is None else found.lt - 1
    return lowest, below if found.le is None else found.le, may_lack


_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_step_done: Any = msgspec.inspect.type_info(StepDone)
_LIMITS = {
    "num_marks": (0, MOST_REPLICAS, False),
    **{field.name: _limits_of(field.type) for field in _step_done.fields},
}


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
