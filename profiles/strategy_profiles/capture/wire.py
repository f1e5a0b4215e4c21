"""Decode protobuf's wire format for many messages at once with NumPy.

Every function takes one byte buffer and an array of positions in it, and advances all positions
together: the number of passes is that of the bytes of the longest varint, not of the messages.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from strategy_profiles.tables.columns import Ints

Bytes = NDArray[np.uint8]

PADDING = b"\0" * 16
"""Appended to a buffer so that reading a varint never exceeds it."""

_METADATA_ID, _OFFSET_PS, _DURATION_PS, _STATS = 0x08, 0x10, 0x18, 0x22
_STAT_REFERENCE = 0x38
STAT_NUMBERS = (0x18, 0x20)
STAT_REFERENCES = (_STAT_REFERENCE,)
_STAT_INTEGERS = (*STAT_NUMBERS, *STAT_REFERENCES)


def read_varints(buffer: Bytes, positions: Ints) -> tuple[Ints, Ints]:
    """Return the varint at each position (two's complement int64) and the positions after them."""
    first = buffer[positions]
    values = (first & 0x7F).astype(np.uint64)
    after = positions + 1
    going = np.flatnonzero(first >= 0x80)
    shift = 7
    while going.size and shift < 70:
        byte = buffer[after[going]]
        values[going] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[going] += 1
        going = going[byte >= 0x80]
        shift += 7
    return values.view(np.int64), after


def read_metadata_ids(buffer: Bytes, positions: Ints) -> tuple[Ints, Ints]:
    """Return the metadata id of each event, its first field, and the position after it.

    Returns id 0, which no event uses, for an event that does not begin with this field. TensorFlow
    writes no such event.
    """
    begins = buffer[positions] == _METADATA_ID
    ids, after = read_varints(buffer, positions + 1)
    return np.where(begins, ids, 0), np.where(begins, after, positions)


def read_event_times(buffer: Bytes, positions: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return offset and duration of events in picoseconds, and the positions of their stats.

    `positions` are those after the metadata id. The two fields may have any order; a missing one
    is 0.
    """
    offset, duration = np.zeros_like(positions), np.zeros_like(positions)
    at = positions.copy()
    going = np.flatnonzero(at < ends)
    while going.size:
        tags = buffer[at[going]]
        going = going[(tags == _OFFSET_PS) | (tags == _DURATION_PS)]
        tags = buffer[at[going]]
        values, after = read_varints(buffer, at[going] + 1)
        is_offset = tags == _OFFSET_PS
        offset[going[is_offset]] = values[is_offset]
        duration[going[~is_offset]] = values[~is_offset]
        at[going] = after
        going = going[after < ends[going]]
    return offset, duration, at


def read_integer_stats(
    buffer: Bytes,
    positions: Ints,
    ends: Ints,
    wanted: tuple[int, ...],
    types: tuple[int, ...] = _STAT_INTEGERS,
) -> dict[int, Ints]:
    """Return integer or reference stats of many events by metadata id; -1 for a missing stat.

    `positions` are where the events' stats begin. Stats of other types than `types` are skipped:
    with `STAT_NUMBERS`, a text such as `unavailable` in a number's place is missing.
    """
    stats = {stat: np.full(len(positions), -1, np.int64) for stat in wanted}
    at = positions.copy()
    going = np.flatnonzero(at < ends)
    while going.size:
        going = going[buffer[at[going]] == _STATS]
        lengths, begin = read_varints(buffer, at[going] + 1)
        at[going] = begin + lengths
        has_id = buffer[begin] == _METADATA_ID
        stat_ids, value_at = read_varints(buffer, begin + 1)
        readable = has_id & np.isin(buffer[value_at], types) & (value_at < at[going])
        values, _ = read_varints(buffer, value_at + 1)
        for stat, column in stats.items():
            match = readable & (stat_ids == stat)
            column[going[match]] = values[match]
            # proto3 omits a zero: the stat is present without a value.
            zero = has_id & (stat_ids == stat) & (value_at >= at[going])
            column[going[zero]] = 0
        going = going[at[going] < ends[going]]
    return stats
