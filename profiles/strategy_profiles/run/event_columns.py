"""A second form of event lines, most of them as columns, that is read faster than the lines.

The process that converts captures appends to `events.columns`, beside `events.jsonl`. Each block
covers the next whole lines of the event file and has their checksum. If the lines are no longer the
same, or the block is damaged, the lines are read, and all that follow.

    {"version":2,"start":0,...}      one line, with its own checksum
    at_ns, line, wall_ms, ...        the columns of steps and of memory samples, little-endian,
                                     without gaps
    [["/device:CPU:0"],["tf"]]       the devices and sources that memory samples name
    {"kind":"note",...}              all other events, as lines
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import msgspec
import numpy as np

from strategy_profiles.decoders import decoder_of
from strategy_profiles.guards import open_file
from strategy_profiles.run.event_decoder import LeftOut
from strategy_profiles.run.events import NUM_MARKS
from strategy_profiles.run.layout import COLUMNS_FILE
from strategy_profiles.run.line_checksum import is_sound, sealed
from strategy_profiles.run.memory_columns import MEMORY_COLUMNS, MemoryColumns
from strategy_profiles.run.step_columns import StepColumns
from strategy_profiles.run.step_lines import Decoded, decode_chunk, decode_others
from strategy_profiles.spec.field_types import Name

BLOCK_BYTES = 4 << 20
"""Bytes of lines for a block; the rest of a file, which is less, is read as lines."""
_MOST_BODY_BYTES = 4 * BLOCK_BYTES
"""No block that is written has so many. A damaged file may claim terabytes, and be sparse."""
_MOST_HEADER_BYTES = 1024
_READ_BYTES = 1 << 20
_VERSION = 2
"""Blocks of another version are not read; the lines are."""
_TYPES = {"captured": "|b1", "wall_ms": "<f8", "loss": "<f8", "input_ms": "<f8"}
_COLUMNS: list[tuple[type, str]] = [
    *((StepColumns, name) for name in StepColumns.__struct_fields__),
    *((MemoryColumns, name) for name in MEMORY_COLUMNS),
]
_DTYPES = dict(
    sorted(
        ((column, np.dtype(_TYPES.get(column[1], "<i8"))) for column in _COLUMNS),
        key=lambda column: -column[1].itemsize,
    )
)
"""The columns in the order of a block: the widest first, so that each begins at a multiple of its
width."""

_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**40)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=BLOCK_BYTES)]


class _Header(msgspec.Struct, frozen=True):
    """The lines that a block covers, and the sizes of its parts."""

    version: Annotated[int, msgspec.Meta(ge=_VERSION, le=_VERSION)]
    start: _Bytes
    """First byte of the lines in the event file."""
    end: _Bytes
    crc32: int
    """CRC-32 of the lines."""
    num_steps: _Count
    num_marks: _Count
    """Rows of `StepColumns.marks_ns`."""
    num_samples: _Count
    """Memory samples."""
    names_bytes: _Bytes
    others_bytes: _Bytes
    body_crc32: int
    """CRC-32 of what follows this line."""

    @property
    def body_bytes(self) -> int:
        return sum(map(self.bytes_of, _DTYPES)) + self.names_bytes + self.others_bytes

    def bytes_of(self, column: tuple[type, str]) -> int:
        """Return the size of a column."""
        kind, name = column
        count = self.num_samples if kind is MemoryColumns else self.num_steps
        if name == "marks_ns":
            count = self.num_marks * NUM_MARKS
        return count * _DTYPES[column].itemsize


_HEADERS = decoder_of(_Header)
_NAMES = decoder_of(tuple[tuple[Name, ...], tuple[Name, ...]])


def add_columns(events: Path, block_bytes: int = BLOCK_BYTES) -> None:
    """Write blocks for the lines of an event file that have none, `block_bytes` of lines each.

    Writes none for invalid lines, and none after them. Raises OSError if a file cannot be read or
    written. One process at a time may write the blocks of a file.
    """
    size = events.stat().st_size
    path = events.with_name(COLUMNS_FILE)
    if size < block_bytes and not path.exists():
        return
    with open_file(events) as lines, path.open("a+b") as blocks:
        start, length = _end_of(blocks)
        blocks.truncate(length)  # a block that was cut short, with its writer
        while size - start >= block_bytes:
            lines.seek(start)
            data = lines.read(block_bytes)
            data = data[: data.rfind(b"\n") + 1]
            block = _block(start, data) if data else None
            if block is None:
                return
            blocks.write(block)
            start += len(data)


def read_columns(events: Path, lines: BinaryIO) -> Iterator[Decoded]:
    """Yield the events of an event file's first lines.

    `lines` is the open file. It then stands where the lines begin that have no block.
    """
    path, done = events.with_name(COLUMNS_FILE), 0
    try:
        with open_file(path) as blocks:
            while (block := _next(blocks, lines, done)) is not None:
                done = block[0]
                yield block[1]
    except OSError:
        pass  # the lines have the same events
    lines.seek(done)


def _block(start: int, data: bytes) -> bytes | None:
    """Return a block for whole lines; None if one of them is invalid, or it would be too large."""
    left_out = LeftOut()
    decoded = decode_chunk(data, left_out)
    if left_out:
        return None
    parts: dict[type, Any] = {StepColumns: decoded.steps, MemoryColumns: decoded.memory}
    columns = [
        np.ascontiguousarray(getattr(parts[kind], name), dtype).tobytes()
        for (kind, name), dtype in _DTYPES.items()
    ]
    names = msgspec.json.encode((decoded.memory.devices, decoded.memory.sources))
    text = msgspec.json.Encoder().encode_lines(decoded.others)
    body = b"".join([*columns, names, text])
    if len(body) > _MOST_BODY_BYTES:
        return None
    header = _Header(
        version=_VERSION,
        start=start,
        end=start + len(data),
        crc32=zlib.crc32(data),
        num_steps=len(decoded.steps),
        num_marks=len(decoded.steps.marks_ns),
        num_samples=len(decoded.memory),
        names_bytes=len(names),
        others_bytes=len(text),
        body_crc32=zlib.crc32(body),
    )
    return sealed(msgspec.json.encode(header)) + b"\n" + body


def _header(blocks: BinaryIO) -> _Header | None:
    """Read a header; None at the end of the file, or if it is not one."""
    line = blocks.readline(_MOST_HEADER_BYTES)
    if not line.endswith(b"\n") or not is_sound(line[:-1]):
        return None
    try:
        header = _HEADERS.decode(line)
    except ValueError:
        return None
    is_written = 0 < header.end - header.start <= BLOCK_BYTES
    return header if is_written and header.body_bytes <= _MOST_BODY_BYTES else None


def _end_of(blocks: BinaryIO) -> tuple[int, int]:
    """Return where the lines of the last whole block end, and where that block ends."""
    size = blocks.seek(0, os.SEEK_END)
    done, length = 0, blocks.seek(0)
    while (header := _header(blocks)) is not None:
        end = blocks.tell() + header.body_bytes
        if header.start != done or end > size:
            break
        done, length = header.end, blocks.seek(end)
    return done, length


def _next(blocks: BinaryIO, lines: BinaryIO, start: int) -> tuple[int, Decoded] | None:
    """Return the end of the next block's lines and their events; None if they must be decoded."""
    header = _header(blocks)
    if header is None or header.start != start:
        return None
    size = os.fstat(blocks.fileno()).st_size - blocks.tell()
    if header.body_bytes > size or not _covers(header, lines):
        return None
    body = blocks.read(header.body_bytes)
    if len(body) != header.body_bytes or zlib.crc32(body) != header.body_crc32:
        return None
    decoded = _decoded(header, body)
    return None if decoded is None else (header.end, decoded)


def _covers(header: _Header, lines: BinaryIO) -> bool:
    """Return whether the lines are the same as when the block was written."""
    crc, last, left = 0, b"", header.end - header.start
    lines.seek(header.start)
    while left and (data := lines.read(min(left, _READ_BYTES))):
        crc, last, left = zlib.crc32(data, crc), data[-1:], left - len(data)
    return not left and last == b"\n" and crc == header.crc32


def _decoded(header: _Header, body: bytes) -> Decoded | None:
    """Return the events of a block; None if one of them does not fit its class in `events`."""
    columns: dict[type, dict[str, Any]] = {StepColumns: {}, MemoryColumns: {}}
    place = 0
    for column, dtype in _DTYPES.items():
        kind, name = column
        count = header.bytes_of(column) // dtype.itemsize
        columns[kind][name] = np.frombuffer(body, dtype, count, place)
        place += header.bytes_of(column)
    marks_ns = columns[StepColumns].pop("marks_ns").reshape(-1, NUM_MARKS)
    steps = StepColumns(**columns[StepColumns], marks_ns=marks_ns)
    try:
        devices, sources = _NAMES.decode(body[place : place + header.names_bytes])
    except ValueError:
        return None
    samples = MemoryColumns(**columns[MemoryColumns], devices=devices, sources=sources)
    others = decode_others(body[place + header.names_bytes :])
    if others is None or not (steps.is_in_range and samples.is_in_range):
        return None
    return Decoded(others, steps, samples)
