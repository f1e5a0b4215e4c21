"""Decode the events of a line to columns: kind, times and the stats that are wanted.

No assumption about the bytes holds in a damaged file, so that every position is checked before it
is used. What does not fit is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strategy_imports.event_shapes import DURATION, KIND, OFFSET, Shape, Shapes, Words
from strategy_imports.inline_texts import InlineTexts
from strategy_imports.recording import TEXT_STATS
from strategy_profiles.capture.wire import Bytes, read_event_times, read_varints
from strategy_profiles.tables.columns import Ints

_METADATA_ID, _STATS = 0x08, 0x22
_NUMBERS = (0x18, 0x20, 0x38)
"""Tags of a stat's unsigned, signed and reference value."""
_TEXT = 0x2A
"""Tag of a stat's text."""
_MOST_STATS = 128
_BATCH = 1 << 15
"""Events decoded together: their columns fit the processor's cache."""
LARGEST_PS = 2**62
"""Larger offsets and durations are damage: 53 days are 2^62 ps."""


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events of a line; times in ps since the line's start."""

    kind: Ints
    offset_ps: Ints
    duration_ps: Ints
    stats: Mapping[str, Ints]
    """The stats that any event has; -1 for an event without it."""

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, index: Ints) -> EventColumns:
        return EventColumns(
            self.kind[index],
            self.offset_ps[index],
            self.duration_ps[index],
            {name: column[index] for name, column in self.stats.items()},
        )


@dataclass(slots=True)
class EventDecoder:
    """Decodes the events of one plane."""

    wanted: Mapping[int, str]
    """Names of the stats to read, by their ids."""
    kind_of: Callable[[Ints], Ints]
    """Returns the kinds of metadata ids, -1 for those whose events are not decoded."""
    shapes: Shapes
    texts: InlineTexts | None = None
    """Takes the texts that events hold themselves; None if these are not read."""

    def read(self, buffer: Bytes, starts: Ints, ends: Ints) -> EventColumns:
        """Return the events between these positions that have valid times.

        The buffer is padded with `event_chain.PADDING`.
        """
        return joined(
            [
                self._read_batch(buffer, starts[at : at + _BATCH], ends[at : at + _BATCH])
                for at in range(0, len(starts), _BATCH)
            ]
        )

    def _read_batch(self, buffer: Bytes, starts: Ints, ends: Ints) -> EventColumns:
        parts: list[EventColumns] = []
        places: list[Ints] = []
        for shape, index, rows in self.shapes.split(buffer, starts, ends):
            kept, columns = (
                self._one_by_one(buffer, starts[index], ends[index])
                if shape is None
                else self._of_shape(shape, rows)
            )
            parts.append(columns)
            places.append(index if kept is None else index[kept])
        if len(parts) == 1:
            return parts[0]
        return joined(parts).take(np.argsort(np.concatenate(places), kind="stable"))

    def _of_shape(self, shape: Shape, rows: Words) -> tuple[Ints | None, EventColumns]:
        """Return the events of one shape, and which rows have valid times; None for all."""
        kind = self.kind_of(shape.number(rows, KIND))
        offset, duration = shape.number(rows, OFFSET), shape.number(rows, DURATION)
        fits = _fits(kind, offset, duration)
        if fits.all():
            kept = None
        else:
            kept = np.flatnonzero(fits)
            kind, offset, duration, rows = kind[kept], offset[kept], duration[kept], rows[kept]
        stats = {
            name: shape.number(rows, name) for name in self.wanted.values() if name in shape.numbers
        }
        return kept, EventColumns(kind, offset, duration, stats)

    def _one_by_one(self, buffer: Bytes, starts: Ints, ends: Ints) -> tuple[Ints, EventColumns]:
        """Decode events of any form, one field of all after the other."""
        kept = np.flatnonzero((ends > starts) & (buffer[starts] == _METADATA_ID))
        ids, after = read_varints(buffer, starts[kept] + 1)
        kind = self.kind_of(ids)
        known = kind >= 0
        kept, kind, after = kept[known], kind[known], after[known]
        ends = ends[kept]
        offset, duration, at = read_event_times(buffer, np.minimum(after, ends), ends)
        stats = _read_stats(buffer, np.minimum(at, ends), ends, self.wanted, self.texts)
        columns = EventColumns(kind, offset, duration, stats)
        fits = np.flatnonzero((at <= ends) & _fits(kind, offset, duration))
        return kept[fits], columns.take(fits)


def _fits(kind: Ints, offset: Ints, duration: Ints) -> NDArray[np.bool_]:
    fits: NDArray[np.bool_] = (kind >= 0) & (offset >= 0) & (duration >= 0)
    return fits & (offset < LARGEST_PS) & (duration < LARGEST_PS)


def joined(parts: Sequence[EventColumns]) -> EventColumns:
    """Return the events of several parts of one line."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.zeros(0, np.int64)
        return EventColumns(none, none, none, {})
    return EventColumns(
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.offset_ps for part in parts]),
        np.concatenate([part.duration_ps for part in parts]),
        {name: _joined_stat(parts, name) for name in sorted({n for p in parts for n in p.stats})},
    )


def _joined_stat(parts: Sequence[EventColumns], name: str) -> Ints:
    column = np.full(sum(map(len, parts)), -1, np.int64)
    at = 0
    for part in parts:
        if name in part.stats:
            column[at : at + len(part)] = part.stats[name]
        at += len(part)
    return column


def _read_stats(
    buffer: Bytes,
    positions: Ints,
    ends: Ints,
    wanted: Mapping[int, str],
    texts: InlineTexts | None,
) -> dict[str, Ints]:
    """Return the wanted stats that are numbers, references or `texts`; -1 for a missing one."""
    values = {name: np.full(len(positions), -1, np.int64) for name in wanted.values()}
    if not values:
        return values
    known = np.asarray(sorted(wanted), np.int64)
    columns = [values[wanted[int(stat)]] for stat in known]
    has_text = np.asarray([wanted[int(stat)] in TEXT_STATS for stat in known])
    at = positions.copy()
    going = np.flatnonzero(at < ends)
    for _turn in range(_MOST_STATS):
        if not going.size:
            break
        position, end = at[going], ends[going]
        lengths, begin = read_varints(buffer, position + 1)
        after = begin + lengths
        fits = (buffer[position] == _STATS) & (lengths >= 0) & (after <= end) & (after >= begin)
        if not fits.all():
            going, begin, after = going[fits], begin[fits], after[fits]
        stats = _wanted_stats(buffer, begin, after, going, known)
        if stats.event.size:
            _take_numbers(stats, columns)
            if texts is not None:
                _take_texts(stats, columns, has_text, texts)
        at[going] = after
        going = going[after < ends[going]]
    return values


@dataclass(frozen=True, slots=True)
class _Stats:
    """One stat of each of some events."""

    buffer: Bytes
    event: Ints
    slot: Ints
    """Which of the wanted stats it is."""
    value_at: Ints
    after: Ints

    def at(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, Ints]]:
        """Yield each slot of the chosen stats, and their rows."""
        for slot in np.unique(self.slot[chosen]).tolist():
            yield slot, np.flatnonzero(chosen & (self.slot == slot))


def _wanted_stats(buffer: Bytes, begin: Ints, after: Ints, event: Ints, known: Ints) -> _Stats:
    ids, value_at = read_varints(buffer, begin + 1)
    slot = np.searchsorted(known, ids)
    is_known = (known[np.minimum(slot, len(known) - 1)] == ids) & (buffer[begin] == _METADATA_ID)
    hits = np.flatnonzero(is_known & (value_at <= after))
    return _Stats(buffer, event[hits], slot[hits], value_at[hits], after[hits])


def _take_numbers(stats: _Stats, columns: list[Ints]) -> None:
    values, _ = read_varints(stats.buffer, stats.value_at + 1)
    # proto3 omits a zero: the stat is present without a value.
    is_zero = stats.value_at >= stats.after
    values[is_zero] = 0
    for slot, rows in stats.at(np.isin(stats.buffer[stats.value_at], _NUMBERS) | is_zero):
        columns[slot][stats.event[rows]] = values[rows]


def _take_texts(
    stats: _Stats, columns: list[Ints], has_text: NDArray[np.bool_], texts: InlineTexts
) -> None:
    is_text = (stats.buffer[stats.value_at] == _TEXT) & (stats.value_at < stats.after)
    for slot, rows in stats.at(is_text & has_text[stats.slot]):
        columns[slot][stats.event[rows]] = texts.numbers(
            stats.buffer, stats.value_at[rows] + 1, stats.after[rows]
        )
