"""Decode the events of a line to columns: kind, times and the stats that are wanted.

No assumption about the bytes holds in a damaged file, so that every position is checked before it
is used. What does not fit is left out, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strategy_lab.profiles.capture.wire import Bytes, Ints, read_event_times, read_varints

_METADATA_ID, _STATS = 0x08, 0x22
_NUMBERS = (0x18, 0x20, 0x38)
"""Tags of a stat's unsigned, signed and reference value."""
_MOST_STATS = 128
_BATCH = 1 << 15
"""Events decoded together: their columns fit the processor's cache."""
LARGEST_PS = 2**62
"""Larger offsets and durations are damage: 53 days are 2^62 ps."""


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events of a line; times in ps since the line's start."""

    metadata_id: Ints
    offset_ps: Ints
    duration_ps: Ints
    stats: dict[str, Ints]

    def __len__(self) -> int:
        return len(self.metadata_id)


def read_events(
    buffer: Bytes,
    starts: Ints,
    ends: Ints,
    wanted: Mapping[int, str],
    is_kept: Callable[[Ints], NDArray[np.bool_]],
) -> EventColumns:
    """Return the events between these positions that have valid times.

    `wanted` has the names of the stats to read by their metadata ids; `is_kept` says of metadata
    ids which events to decode. The buffer is padded with `event_chain.PADDING`.
    """
    parts = [
        _read_batch(buffer, starts[at : at + _BATCH], ends[at : at + _BATCH], wanted, is_kept)
        for at in range(0, len(starts), _BATCH)
    ]
    return joined(parts, wanted)


def joined(parts: Sequence[EventColumns], wanted: Mapping[int, str]) -> EventColumns:
    """Return the events of several pieces of one line; `wanted` names their stats."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        none = np.zeros(0, np.int64)
        return EventColumns(none, none, none, dict.fromkeys(wanted.values(), none))
    return EventColumns(
        np.concatenate([part.metadata_id for part in parts]),
        np.concatenate([part.offset_ps for part in parts]),
        np.concatenate([part.duration_ps for part in parts]),
        {
            name: np.concatenate([part.stats[name] for part in parts])
            for name in dict.fromkeys(wanted.values())
        },
    )


def _read_batch(
    buffer: Bytes,
    starts: Ints,
    ends: Ints,
    wanted: Mapping[int, str],
    is_kept: Callable[[Ints], NDArray[np.bool_]],
) -> EventColumns:
    fits = (ends > starts) & (buffer[starts] == _METADATA_ID)
    if not fits.all():
        starts, ends = starts[fits], ends[fits]
    ids, after = read_varints(buffer, starts + 1)
    kept = is_kept(ids)
    if not kept.all():
        ids, after, ends = ids[kept], after[kept], ends[kept]
    offset, duration, at = read_event_times(buffer, np.minimum(after, ends), ends)
    stats = _read_stats(buffer, np.minimum(at, ends), ends, wanted)
    fits = (at <= ends) & (offset >= 0) & (duration >= 0)
    fits &= (offset < LARGEST_PS) & (duration < LARGEST_PS)
    if fits.all():
        return EventColumns(ids, offset, duration, stats)
    stats = {name: column[fits] for name, column in stats.items()}
    return EventColumns(ids[fits], offset[fits], duration[fits], stats)


def _read_stats(
    buffer: Bytes, positions: Ints, ends: Ints, wanted: Mapping[int, str]
) -> dict[str, Ints]:
    """Return the wanted stats that are numbers or references; -1 for a missing one."""
    found = {name: np.full(len(positions), -1, np.int64) for name in wanted.values()}
    if not found:
        return found
    known = np.asarray(sorted(wanted), np.int64)
    columns = [found[wanted[int(stat)]] for stat in known]
    at = positions.copy()
    going = np.flatnonzero(at < ends)
    for _turn in range(_MOST_STATS):
        if not going.size:
            break
        place, end = at[going], ends[going]
        lengths, begin = read_varints(buffer, place + 1)
        after = begin + lengths
        fits = (buffer[place] == _STATS) & (lengths >= 0) & (after <= end) & (after >= begin)
        if not fits.all():
            going, begin, after = going[fits], begin[fits], after[fits]
        _take_values(buffer, begin, after, going, known, columns)
        at[going] = after
        going = going[after < ends[going]]
    return found


def _take_values(
    buffer: Bytes, begin: Ints, after: Ints, event: Ints, known: Ints, columns: list[Ints]
) -> None:
    ids, value_at = read_varints(buffer, begin + 1)
    slot = np.searchsorted(known, ids)
    is_known = (known[np.minimum(slot, len(known) - 1)] == ids) & (buffer[begin] == _METADATA_ID)
    hits = np.flatnonzero(is_known & (value_at <= after))
    if not hits.size:
        return
    slot, value_at, after, event = slot[hits], value_at[hits], after[hits], event[hits]
    values, _ = read_varints(buffer, value_at + 1)
    # proto3 omits a zero: the stat is present without a value.
    values[value_at >= after] = 0
    is_number = np.isin(buffer[value_at], _NUMBERS) | (value_at >= after)
    for number in np.unique(slot).tolist():
        chosen = is_number & (slot == number)
        columns[number][event[chosen]] = values[chosen]
