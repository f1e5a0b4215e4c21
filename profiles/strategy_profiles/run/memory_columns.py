"""The memory samples of one process as columns: a long run has tens of thousands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from strategy_profiles.run.column_ranges import Range, is_within, ranges_of
from strategy_profiles.run.events import MemorySampled
from strategy_profiles.run.field_columns import Bools, Ints, ints_of, ints_or_unknown_of

Names = tuple[str, ...]


class MemoryColumns(Struct, frozen=True):
    """The fields of `events.MemorySampled`, one entry per sample in the order of the file."""

    at_ns: Ints
    line: Ints
    """0 in runs of earlier versions."""
    device: Ints
    """Index into `devices`."""
    step: Ints
    bytes_in_use: Ints
    peak_bytes: Ints
    """-1 if unknown."""
    source: Ints
    """Index into `sources`."""
    devices: Names
    sources: Names

    def __len__(self) -> int:
        return len(self.step)

    @classmethod
    def of(cls, samples: Sequence[MemorySampled]) -> MemoryColumns:
        """Return the columns of samples."""
        device, devices = _numbered([sample.device for sample in samples])
        source, sources = _numbered([sample.source for sample in samples])
        return cls(
            at_ns=ints_of(samples, "at_ns"),
            line=ints_of(samples, "line"),
            device=device,
            step=ints_of(samples, "step"),
            bytes_in_use=ints_of(samples, "bytes_in_use"),
            peak_bytes=ints_or_unknown_of(samples, "peak_bytes"),
            source=source,
            devices=devices,
            sources=sources,
        )

    @property
    def is_in_range(self) -> bool:
        """Whether columns from elsewhere have only values that those of `events.MemorySampled` can
        have."""
        named = ((self.device, self.devices), (self.source, self.sources))
        return all(
            is_within(number, Range(0, len(names) - 1, False)) for number, names in named
        ) and all(is_within(getattr(self, name), allowed) for name, allowed in _RANGES.items())

    def only(self, chosen: Bools | Ints) -> MemoryColumns:
        """Return the samples selected by a mask, or at these places in this order."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in MEMORY_COLUMNS})

    @classmethod
    def together(cls, parts: Sequence[MemoryColumns]) -> MemoryColumns:
        """Concatenate the samples of all parts."""
        if len(parts) == 1:
            return parts[0]
        every = parts or [cls.of(())]
        joined = {
            name: np.concatenate([getattr(part, name) for part in every]) for name in MEMORY_COLUMNS
        }
        joined["device"], devices = _renumbered([(part.device, part.devices) for part in every])
        joined["source"], sources = _renumbered([(part.source, part.sources) for part in every])
        return cls(**joined, devices=devices, sources=sources)


MEMORY_COLUMNS = ("at_ns", "line", "device", "step", "bytes_in_use", "peak_bytes", "source")
"""The fields that are columns."""
_RANGES = ranges_of(MemorySampled)


def _numbered(texts: Iterable[str]) -> tuple[Ints, Names]:
    """Return the texts as numbers, and the text of each number."""
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(text, len(numbers)) for text in texts]
    return np.array(codes, np.int64), tuple(numbers)


def _renumbered(parts: Sequence[tuple[Ints, Names]]) -> tuple[Ints, Names]:
    """Return the numbers of all parts as numbers of the same texts."""
    numbers: dict[str, int] = {}
    columns = []
    for codes, names in parts:
        own = [numbers.setdefault(name, len(numbers)) for name in names]
        columns.append(np.array(own, np.int64)[codes])
    return np.concatenate(columns), tuple(numbers)
