"""Read the lines of a plane, a piece of the file at a time."""

from __future__ import annotations

import mmap
from dataclasses import dataclass, field

from strategy_imports import event_chain
from strategy_imports.event_columns import EventColumns, EventDecoder, joined
from strategy_imports.file_pieces import FilePieces
from strategy_imports.proto_fields import (
    BYTES,
    VARINT,
    DamagedError,
    fields,
    signed,
)
from strategy_imports.recording import EPOCH_NS, Line

_ID, _NAME, _TIMESTAMP_NS, _DISPLAY_NAME = 1, 2, 3, 11
LATEST_NS = 2**61
"""Later times (after 2043) are damage; a length added to one still fits into 64 bits."""


@dataclass(slots=True)
class _Head:
    """The fields of a line beside its events."""

    thread: int = 0
    name: str = ""
    timestamp_ns: int = 0
    display_name: str = ""


@dataclass(slots=True)
class LineReader:
    """Reads the lines of one plane, and counts what it leaves out."""

    buffer: mmap.mmap
    pieces: FilePieces
    decoder: EventDecoder
    num_events: int = 0
    num_left_out: int = 0
    problems: list[str] = field(default_factory=list)

    def read(self, begin: int, end: int, start_ns: int, most: int) -> Line:
        """Return the line in `[begin, end)` with at most about `most` events."""
        head, parts, at = _Head(), [], begin
        damage = None
        while at < end and damage is None:
            if self.buffer[at] != event_chain.EVENTS_TAG:
                at, damage = self._read_field(head, at, end)
                continue
            at, columns, damage = self._read_piece(at, end)
            parts.append(columns)
            if sum(map(len, parts)) > most:
                damage = f"only the first {most:,} events are kept, for they fill the memory"
        name = head.display_name or head.name
        if damage:
            self.problems.append(f"line {name or head.thread}: {damage}")
        origin_ns = head.timestamp_ns
        if origin_ns < EPOCH_NS:
            origin_ns += start_ns
        columns = joined(parts)
        return Line(
            name,
            head.thread,
            columns.kind,
            origin_ns + columns.offset_ps // 1000,
            origin_ns + (columns.offset_ps + columns.duration_ps) // 1000,
            columns.stats,
        )

    def _read_field(self, head: _Head, at: int, end: int) -> tuple[int, str | None]:
        try:
            number, kind, first, last = next(fields(self.buffer, at, end))
        except DamagedError as error:
            return end, str(error)
        if kind < 0:
            return end, f"a field at byte {at:,} is cut off"
        if kind == VARINT and number == _ID:
            head.thread = signed(first)
        elif kind == VARINT and number == _TIMESTAMP_NS:
            head.timestamp_ns = first if first < LATEST_NS else 0
        elif kind == BYTES and number in (_NAME, _DISPLAY_NAME):
            text = self.buffer[first:last].decode("utf-8", "replace")[:1000]
            if number == _NAME:
                head.name = text
            else:
                head.display_name = text
        return last, None

    def _read_piece(self, at: int, end: int) -> tuple[int, EventColumns, str | None]:
        """Return the position after the events that follow each other from `at`, and the events."""
        buffer, chain = self.pieces.events(at, end)
        columns = self.decoder.read(buffer, chain.starts, chain.ends)
        self.num_events += len(chain.starts)
        self.num_left_out += len(chain.starts) - len(columns)
        if not len(chain.starts):
            return end, columns, f"an event at byte {at:,} is cut off or damaged"
        return at + chain.stop, columns, None
