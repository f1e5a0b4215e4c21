"""Events of all planes of a recording in one set of columns, each with its meaning."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np

from strategy_imports.recording import Ints
from strategy_profiles.capture.graph import CATEGORY_NAMES

COMPUTE, COLLECTIVE, TRANSFER, INPUT, WAIT, OTHER, DELAY = range(len(CATEGORY_NAMES))


_SMALL = ("device", "name", "op", "category", "replica", "step", "hlo")


Item = TypeVar("Item", bound=Hashable)


class Numbered(Generic[Item]):
    """Distinct values by number."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self._index: dict[Item, int] = {}

    def index(self, item: Item) -> int:
        index = self._index.setdefault(item, len(self.all))
        if index == len(self.all):
            self.all.append(item)
        return index


Texts = Numbered[str]


@dataclass(frozen=True, slots=True)
class Spans:
    """One row per event. -1 means unknown. Columns of small numbers have 32 bits."""

    device: Ints
    """Index into the devices of the host; -1 for the host itself."""
    name: Ints
    """Op of the program, if the profile tells it, else what ran; index into `Texts`."""
    op: Ints
    """What ran: kernel, HLO instruction, type of the op; index into `Texts`."""
    category: Ints
    start_ns: Ints
    end_ns: Ints
    thread: Ints
    correlation: Ints
    """Joins a device's event with the call of the host that launched it."""
    step_num: Ints
    """The number in a step's annotation."""
    instance: Ints
    """Instance key of a collective op."""
    bytes: Ints
    """Size of a copy, or of a collective; of an event of the host, of what it launched."""
    group_size: Ints
    """Ranks in the group of a collective, likewise."""
    replica: Ints
    step: Ints
    """Index of the step."""
    hlo: Ints
    """The instruction of a compiled program; index into `HostProfile.hlo`."""

    def __len__(self) -> int:
        return len(self.start_ns)

    def take(self, index: Any) -> Spans:
        return Spans(*(getattr(self, column.name)[index] for column in fields(self)))

    def with_columns(self, **columns: Ints) -> Spans:
        return replace(self, **columns)

    @staticmethod
    def of(length: int, **columns: Any) -> Spans:
        """Return rows whose columns are arrays or one number for all; -1 if not given."""
        made: dict[str, Any] = {}
        for column in fields(Spans):
            value = columns.get(column.name, -1)
            kind = np.int32 if column.name in _SMALL else np.int64
            is_array = isinstance(value, np.ndarray)
            made[column.name] = (
                value.astype(kind, copy=False) if is_array else _same(length, kind(value))
            )
        return Spans(**made)

    @staticmethod
    def joined(parts: list[Spans]) -> Spans:
        """Return the rows of all parts, and empty the list.

        A column of the parts is released once it is joined, so that memory holds all rows once and
        one column twice.
        """
        if len(parts) == 1:
            return parts.pop()
        if not parts:
            return Spans.of(0)
        columns = {
            each.name: [getattr(part, each.name) for part in parts] for each in fields(Spans)
        }
        parts.clear()
        return Spans(**{name: _joined(columns.pop(name)) for name in list(columns)})


def _same(length: int, value: Any) -> Ints:
    """Return a column with one value for all, which takes no memory."""
    return np.broadcast_to(value, length)


def _joined(parts: list[Ints]) -> Ints:
    values = {int(part[0]) if len(part) else None for part in parts if not part.strides[0]}
    if len(values) == 1 and None not in values and not any(part.strides[0] for part in parts):
        return _same(sum(map(len, parts)), parts[0][0])
    return np.concatenate(parts)
