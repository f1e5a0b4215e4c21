"""Compare columns with the ranges of the event's fields.

Columns that are read from a file hold only values that the decoder of the lines accepts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from strategy_profiles.run.events import Recorded
from strategy_profiles.run.field_columns import UNKNOWN

_LARGEST_FLOAT = float(np.finfo(np.float64).max)


class Range(NamedTuple):
    """The values that a field can have."""

    lowest: float
    highest: float
    may_lack: bool
    """Whether the event may have none."""


def ranges_of(kind: type[Recorded]) -> dict[str, Range]:
    """Return the range of each numeric field of an event; of marks, that of the times."""
    described: Any = msgspec.inspect.type_info(kind)
    ranges = {field.name: _range_of(field.type) for field in described.fields}
    return {name: bounds for name, bounds in ranges.items() if bounds is not None}


def is_within(values: npt.NDArray[Any], allowed: Range) -> bool:
    """Return whether a column has only values of a range."""
    lowest, highest, may_lack = allowed
    if values.dtype == np.bool_:
        values = values.view(np.uint8)
    if values.dtype == np.float64 and may_lack:
        values = values[~np.isnan(values)]
    elif may_lack:
        lowest = UNKNOWN
    # A comparison with NaN, the minimum of values with NaN, is false.
    return not values.size or bool(values.min() >= lowest and values.max() <= highest)


def _range_of(kind: Any) -> Range | None:
    may_lack = isinstance(kind, msgspec.inspect.UnionType)
    kind = kind.types[0] if may_lack else kind
    if isinstance(kind, msgspec.inspect.ListType):  # of marks, three times each
        mark: Any = kind.item_type
        return _range_of(mark.item_types[0])
    kind = getattr(kind, "type", kind)
    if isinstance(kind, msgspec.inspect.BoolType):
        return Range(0, 1, False)
    if not isinstance(kind, (msgspec.inspect.IntType, msgspec.inspect.FloatType)):
        return None
    lowest = -_LARGEST_FLOAT if kind.ge is None else kind.ge
    below = _LARGEST_FLOAT if kind.lt is None else kind.lt - 1
    return Range(lowest, below if kind.le is None else kind.le, may_lack)
