"""Read an XSpace file of any size and in any state.

The file is mapped, and lines are decoded one piece at a time: protobuf itself refuses messages
above 2 GB, and refuses a whole file where one byte is wrong.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from strategy_imports.event_columns import EventDecoder
from strategy_imports.event_names import is_left_out
from strategy_imports.event_shapes import Shapes
from strategy_imports.file_pieces import FilePieces
from strategy_imports.host_spans import readable
from strategy_imports.inline_texts import InlineTexts
from strategy_imports.program_plane import read_programs
from strategy_imports.proto_fields import BYTES, Buffer, DamagedError, fields
from strategy_imports.recording import (
    BOOKKEEPING,
    CONSUMER,
    EPOCH_NS,
    INTEGER_STATS,
    PRODUCER,
    SLICE_ENDS,
    SLICE_LABEL,
    SLICE_STATS,
    TEXT_STATS,
    Line,
    Plane,
    Recording,
)
from strategy_imports.xplane_line import LATEST_NS, LineReader
from strategy_imports.xplane_names import Place, PlaneNames, read_names
from strategy_profiles.guards import open_file
from strategy_profiles.tables.columns import Ints

_MOST_DIRECT = 1 << 20


class KindTable:
    """Looks up many ids at once; ids may be any number."""

    def __init__(self, ids: Sequence[int], is_dropped: Sequence[bool]) -> None:
        """`ids` ascend; events of kinds that are dropped count as those of unknown ones."""
        self._ids = np.asarray(ids, np.int64)
        kinds = np.where(np.asarray(is_dropped, bool), -1, np.arange(len(ids)))
        self._kinds = np.append(kinds, -1)
        self._direct: Ints | None = None
        if not ids or (ids[0] >= 0 and ids[-1] < _MOST_DIRECT):
            self._direct = np.full(max(ids, default=0) + 2, -1)  # the last is for larger ids
            self._direct[self._ids] = kinds

    def find(self, ids: Ints) -> Ints:
        """Return the index of each id's kind, -1 if it is unknown or dropped."""
        if self._direct is not None:
            last = np.uint64(len(self._direct) - 1)
            # As unsigned numbers, negative ids are large.
            return self._direct[np.minimum(ids.view(np.uint64), last).view(np.int64)]
        nearest = np.searchsorted(self._ids, ids)
        is_known = self._ids[np.minimum(nearest, len(self._ids) - 1)] == ids
        return np.where(is_known, self._kinds[nearest], -1)


MOST_EVENTS = 10_000_000
"""Events that are kept of one file: as many as a run's table of spans may have.

A tenth is kept free for the planes of hosts, which have the steps. Planes, and lines of a plane,
share the rest: the small ones are kept whole, and the large ones each have the same number.
"""
_METADATA_PLANE = "/host:metadata"
_PLANES, _HOSTNAMES = 1, 4
_LARGEST_ID = 2**61
"""A larger id is damage."""
_LONGEST = 2048
"""Bytes of a name that are read."""
_NAME, _LINES, _EVENT_METADATA, _STAT_METADATA, _STATS = 2, 3, 4, 5, 6


@dataclass(slots=True)
class _PlaneParts:
    """Where the parts of a plane are in the file."""

    name: str = ""
    parts: dict[int, list[Place]] = field(default_factory=dict)
    damage: str | None = None

    @property
    def num_bytes(self) -> int:
        return sum(end - begin for begin, end in self.parts.get(_LINES, []))


def read_xplane(path: Path, host: str = "") -> Recording:
    """Return what a file has; `problems` says what it has not. Raises OSError.

    `host` is the name that the file's own name has.
    """
    recording = Recording(host)
    with open_file(path) as file:
        if not path.stat().st_size:
            return recording
        with closing(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)) as buffer:
            _read_space(buffer, FilePieces(file), recording)
    return recording


def _read_space(buffer: mmap.mmap, pieces: FilePieces, recording: Recording) -> None:
    planes = []
    try:
        for number, kind, begin, end in fields(buffer, 0, len(buffer)):
            if number == _PLANES and abs(kind) == BYTES:
                planes.append(_split_plane(buffer, begin, end))
            elif number == _HOSTNAMES and kind == BYTES and not recording.own_host:
                recording.own_host = readable(buffer[begin : min(end, begin + _LONGEST)])
    except DamagedError as error:
        if error.position == 0:
            recording.problems.append("It is no XPlane file, or its first byte is damaged")
        else:
            recording.problems.append(
                f"The file is damaged or cut off: {error}; what follows is not read"
            )
    names = [_names_of(buffer, plane) for plane in planes]
    recording.start_ns = next(
        (
            start
            for each in names
            if isinstance(start := each.own.get("profile_start_time"), int)
            and EPOCH_NS < start < LATEST_NS
        ),
        0,
    )
    # Devices first: whether they name what launched their events decides what is read of hosts.
    devices = [i for i in range(len(planes)) if planes[i].name.startswith("/device:")]
    others = [i for i in range(len(planes)) if i not in devices]
    read: dict[int, Plane] = {}
    kept = 0
    for indices, most in ((devices, MOST_EVENTS - MOST_EVENTS // 10), (others, MOST_EVENTS)):
        by_size = sorted(indices, key=lambda i: planes[i].num_bytes)
        for index, left in zip(by_size, range(len(by_size), 0, -1), strict=True):
            share = max(most - kept, 0) // left
            read[index] = _read_plane(buffer, pieces, planes[index], names[index], recording, share)
            kept += sum(len(line) for line in read[index].lines)
        recording.planes += [read[index] for index in indices]
    for plane in planes:
        if plane.name == _METADATA_PLANE:
            places = plane.parts.get(_EVENT_METADATA, []), plane.parts.get(_STAT_METADATA, [])
            read_programs(buffer, *places, recording)


def _has_consumers(recording: Recording) -> bool:
    return any(CONSUMER in line.stats for plane in recording.planes for line in plane.lines)


def _split_plane(buffer: Buffer, begin: int, end: int) -> _PlaneParts:
    plane = _PlaneParts()
    try:
        for number, kind, first, last in fields(buffer, begin, end):
            if number == _NAME and kind == BYTES:
                plane.name = readable(buffer[first : min(last, first + _LONGEST)])
            elif abs(kind) == BYTES and (kind == BYTES or number == _LINES):
                plane.parts.setdefault(number, []).append((first, last))
    except DamagedError as error:
        plane.damage = str(error)
    return plane


def _names_of(buffer: Buffer, plane: _PlaneParts) -> PlaneNames:
    if plane.name == _METADATA_PLANE:  # programs, often hundreds of MB
        return PlaneNames()
    wanted = (_EVENT_METADATA, _STAT_METADATA, _STATS)
    return read_names(buffer, *(plane.parts.get(number, []) for number in wanted))


def _read_plane(
    buffer: mmap.mmap,
    pieces: FilePieces,
    parts: _PlaneParts,
    names: PlaneNames,
    recording: Recording,
    most_events: int,
) -> Plane:
    kind_ids = sorted(names.kinds)
    kinds = [names.kinds[key] for key in kind_ids]
    plane = Plane(parts.name, kinds, [], names.own, names.stats)
    is_device = parts.name.startswith("/device:")
    links = CONSUMER if is_device else PRODUCER
    is_linked = links == CONSUMER or _has_consumers(recording)
    known = (*INTEGER_STATS, *TEXT_STATS, *([links] if is_linked else []))
    if SLICE_ENDS[0] in names.stats.values():
        known += (*SLICE_STATS, SLICE_LABEL)
    wanted = {key: name for key, name in names.stats.items() if name in known}
    texts = InlineTexts(_above(names.stats)) if is_device else None
    decoder = EventDecoder(
        wanted,
        KindTable(kind_ids, [is_left_out(kind.name) for kind in kinds]).find,
        Shapes(wanted, TEXT_STATS if is_device else ()),
        texts,
    )
    reader = LineReader(buffer, pieces, decoder)
    problems = [parts.damage] if parts.damage else []
    if names.num_damaged:
        problems.append(f"{names.num_damaged:,} names cannot be read")
    places = parts.parts.get(_LINES, [])
    lines: dict[Place, Line] = {}
    for place in sorted(places, key=lambda place: place[1] - place[0]):
        share = max(most_events, 0) // (len(places) - len(lines))
        lines[place] = reader.read(*place, recording.start_ns, share)
        most_events -= len(lines[place])
    plane.lines.extend(lines[place] for place in places)
    if texts is not None:
        names.stats |= texts.by_number()
    recording.num_events += reader.num_events
    recording.left_out[BOOKKEEPING] += reader.num_left_out
    problems += reader.problems
    recording.problems += [f"Plane {parts.name or 'without a name'}: {text}" for text in problems]
    return plane


def _above(ids: Iterable[int]) -> int:
    """Return a number that is no id, nor are those that follow it."""
    return 1 + max((key for key in ids if 0 < key < _LARGEST_ID), default=0)
