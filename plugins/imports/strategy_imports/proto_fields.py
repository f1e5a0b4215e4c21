"""Walk the fields of one protobuf message by hand, so that a damaged file can be read in part."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import TypeAlias

Buffer: TypeAlias = bytes | mmap.mmap
Field: TypeAlias = tuple[int, int, int, int]
"""Number and wire type, then begin and end of a length-delimited value; of a varint, its value and
the end of the field."""

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_LONGEST_VARINT = 10


class DamagedError(Exception):
    """The bytes are not a protobuf message from `position` on."""

    def __init__(self, position: int, why: str) -> None:
        self.position = position
        super().__init__(why)


def fields(buffer: Buffer, begin: int, end: int) -> Iterator[Field]:
    """Yield the fields of the message in `[begin, end)`.

    At a field that is longer than the message, yields what there is of its value under the negated
    wire type, so that the caller may read it. Raises DamagedError then, and at bytes that are no
    field.
    """
    at = begin
    while at < end:
        start = at
        tag, at = varint(buffer, at, end)
        number, kind = tag >> 3, tag & 7
        if not number and kind == VARINT:  # bytes of zero are such fields without an end
            raise DamagedError(start, f"a field without a number at byte {start:,}")
        if kind == VARINT:
            value, at = varint(buffer, at, end)
            yield number, kind, value, at
            continue
        if kind == BYTES:
            length, at = varint(buffer, at, end)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise DamagedError(start, f"wire type {kind} at byte {start:,}")
        if not number or length > end - at:
            yield number, -kind, at, end
            raise DamagedError(start, f"a field at byte {start:,} is longer than what is left")
        yield number, kind, at, at + length
        at += length


def varint(buffer: Buffer, at: int, end: int) -> tuple[int, int]:
    """Return the unsigned value of a varint and the position after it. Raises DamagedError."""
    value = shift = 0
    first = at
    while at < end and shift < 7 * _LONGEST_VARINT:
        byte = buffer[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise DamagedError(first, f"a number that does not end at byte {first:,}")


def signed(value: int) -> int:
    """Return the int64 with the bits of an unsigned value."""
    return value - (1 << 64) if value >> 63 else value
