"""Find the events of a line that have one shape, to decode them together.

Events of one shape have the same tags, lengths and ids of stats, and each of their numbers takes
the same number of bytes: a number is at one place in all of them. A line has few shapes, for it has
few kinds of events and most numbers have one length. Every byte that belongs to the shape is
compared, so that a damaged event has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from strategy_imports.proto_fields import DamagedError, varint
from strategy_profiles.capture.wire import Bytes
from strategy_profiles.tables.columns import Ints

KIND, OFFSET, DURATION = "metadata_id", "offset_ps", "duration_ps"

_EVENT_NUMBERS = {0x08: KIND, 0x10: OFFSET, 0x18: DURATION}
_STATS, _STAT_ID, _STAT_NUMBERS, _TEXT = 0x22, 0x08, (0x18, 0x20, 0x38), 0x2A
_LONGEST = 512
"""Longer events are decoded one field after the other."""
_FEWEST = 32
"""Of fewer events, finding a shape costs more than it saves."""
_MOST_TURNS = 32
Words = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Shape:
    """Which bits all events of the shape share, and where their numbers are."""

    mask: Words
    bits: Words
    numbers: Mapping[str, tuple[int, int]]
    """First byte and number of bytes, by what the number is. A number without bytes is 0."""

    def matches(self, rows: Words) -> NDArray[np.bool_]:
        is_match = np.ones(len(rows), bool)
        for word in np.flatnonzero(self.mask).tolist():
            is_match &= (rows[:, word] & self.mask[word]) == self.bits[word]
        return is_match

    def number(self, rows: Words, what: str) -> Ints:
        """Return a number of every row, as int64 with the bits of an unsigned one."""
        offset, width = self.numbers[what]
        if not width or not len(rows):
            return np.zeros(len(rows), np.int64)
        digits = np.uint64(0x7F7F7F7F7F7F7F7F >> 8 * max(8 - width, 0))
        value = _joined_bits(_at(rows, offset, "<u8") & digits)
        for more in range(8, width):
            byte = _at(rows, offset + more, "u1").astype(np.uint64) & np.uint64(0x7F)
            value |= byte << np.uint64(7 * more)
        return value.view(np.int64)


class Shapes:
    """The shapes of the events that were seen so far."""

    def __init__(self, wanted: Mapping[int, str], texts: Collection[str] = ()) -> None:
        """`wanted` has the names of the stats to read, by their ids.

        An event with one of `texts` as a text, and not as a reference, has no shape.
        """
        self._wanted = wanted
        self._texts = texts
        self._of_length: dict[int, list[Shape]] = {}

    def split(
        self, buffer: Bytes, starts: Ints, ends: Ints
    ) -> Iterator[tuple[Shape | None, Ints, Words]]:
        """Yield a shape, the indices of its events and their bytes; None for those without one.

        The buffer goes on behind the last event by 16 bytes or more.
        """
        for length, index in _by_length(ends - starts):
            if len(index) < _FEWEST or not 2 <= length <= _LONGEST:
                yield None, index, _NO_WORDS
            else:
                yield from self._of_one_length(length, index, _rows(buffer, starts[index], length))

    def _of_one_length(
        self, length: int, index: Ints, rows: Words
    ) -> Iterator[tuple[Shape | None, Ints, Words]]:
        rest, rest_rows = index, rows
        for _turn in range(_MOST_TURNS):
            shape = self._shape(rest_rows[0].tobytes()[:length])
            if shape is None:
                break
            has = shape.matches(rest_rows)
            if has.all():
                yield shape, rest, rest_rows
                return
            yield shape, rest[has], rest_rows[has]
            rest, rest_rows = rest[~has], rest_rows[~has]
            if len(rest) < _FEWEST:
                break
        yield None, rest, _NO_WORDS

    def _shape(self, event: bytes) -> Shape | None:
        known = self._of_length.setdefault(len(event), [])
        row = _rows(np.frombuffer(event + bytes(16), np.uint8), np.zeros(1, np.int64), len(event))
        for shape in known:
            if shape.matches(row)[0]:
                return shape
        new = shape_of(event, self._wanted, self._texts)
        if new is not None and len(known) < 4 * _MOST_TURNS:
            known.append(new)
        return new


_NO_WORDS: Words = np.zeros((0, 0), np.uint64)


def shape_of(event: bytes, wanted: Mapping[int, str], texts: Collection[str]) -> Shape | None:
    """Return the shape of an event; None if it is damaged, has other fields or one of `texts`."""
    mask = bytearray(b"\xff" * len(event))
    numbers = {OFFSET: (0, 0), DURATION: (0, 0)}
    at = 0
    try:
        while at < len(event):
            tag, begin = event[at], at + 1
            # Kind and times come before the stats, as the reader of other events expects.
            if tag in _EVENT_NUMBERS and (tag == 0x08) == (at == 0):
                _, at = varint(event, begin, len(event))
                numbers[_EVENT_NUMBERS[tag]] = _as_number(mask, begin, at)
            elif tag == _STATS and at:
                length, begin = varint(event, begin, len(event))
                at = begin + length
                if at > len(event):
                    return None
                if not _read_stat(event, begin, at, wanted, texts, mask, numbers):
                    return None
            else:
                return None
    except DamagedError:
        return None
    room = bytes(_num_words(len(event)) * 8 - len(event))
    masked = np.frombuffer(bytes(mask) + room, "<u8")
    return Shape(masked, np.frombuffer(event + room, "<u8") & masked, numbers)


def _read_stat(
    event: bytes,
    begin: int,
    end: int,
    wanted: Mapping[int, str],
    texts: Collection[str],
    mask: bytearray,
    numbers: dict[str, tuple[int, int]],
) -> bool:
    """Take the place of a stat's number; return False if the stat is not as profilers write it."""
    if begin >= end or event[begin] != _STAT_ID:
        return False
    stat, at = varint(event, begin + 1, end)
    name = wanted.get(stat)
    if name is None:
        mask[at:end] = bytes(end - at)
    elif at == end:
        numbers[name] = (at, 0)  # proto3 omits a zero
    elif event[at] in _STAT_NUMBERS:
        _, last = varint(event, at + 1, end)
        numbers[name] = _as_number(mask, at + 1, last)
        return last == end
    elif event[at] == _TEXT and name in texts:
        return False
    else:
        mask[at + 1 : end] = bytes(end - at - 1)  # a text or a floating-point number
    return True


def _as_number(mask: bytearray, begin: int, end: int) -> tuple[int, int]:
    """Only the bits that say where the number ends belong to the shape."""
    mask[begin:end] = b"\x80" * (end - begin)
    return begin, end - begin


def _num_words(length: int) -> int:
    """Eight bytes can be read from any place of the event."""
    return length // 8 + 2


def _rows(buffer: Bytes, starts: Ints, length: int) -> Words:
    """Return the bytes of events of one length, and some that follow, as a row of words each."""
    size = 8 * _num_words(length)
    windows = np.ndarray(len(buffer) - size + 1, f"V{size}", buffer, 0, (1,))
    return windows[starts].view("<u8").reshape(len(starts), -1)


def _by_length(lengths: Ints) -> Iterator[tuple[int, Ints]]:
    """Yield each length with the indices of the events that have it.

    Events longer than `_LONGEST` come together, as the length `_LONGEST + 1`.
    """
    short = np.minimum(lengths, _LONGEST + 1).astype(np.uint16)
    counts = np.bincount(short)
    if np.count_nonzero(counts) == 1:
        yield int(short[0]), np.arange(len(short))
        return
    order = np.argsort(short, kind="stable")
    at = 0
    for length in np.flatnonzero(counts).tolist():
        yield length, order[at : at + counts[length]]
        at += int(counts[length])


def _at(rows: Words, offset: int, kind: str) -> NDArray[np.uint64]:
    """Return the value at one place of every row."""
    return np.ndarray(len(rows), kind, rows, offset, rows.strides[:1])


def _joined_bits(value: Words) -> Words:
    """Return the numbers whose digits of seven bits are the bytes of `value`, the lowest first."""
    for mask, shift in (
        (0x7F007F007F007F00, 1),
        (0x3FFF00003FFF0000, 2),
        (0x0FFFFFFF00000000, 4),
    ):
        high = value & np.uint64(mask)
        value = (value ^ high) | (high >> np.uint64(shift))
    return value
