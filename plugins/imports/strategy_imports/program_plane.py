"""The plane `/host:metadata`: the programs that devices ran, each in a stat of its own entry."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator

import numpy as np

from strategy_imports.device_lines import device_of
from strategy_imports.event_names import ran_as
from strategy_imports.hlo_programs import read_program
from strategy_imports.proto_fields import (
    BYTES,
    VARINT,
    DamagedError,
    fields,
    signed,
)
from strategy_imports.recording import Plane, Recording
from strategy_imports.xplane_names import Place, read_names

_PROGRAM_STATS = ("Hlo Proto", "hlo_proto")
_KEY, _VALUE, _STATS = 1, 2, 5
_STAT_ID, _BYTES_VALUE = 1, 6


def read_programs(
    buffer: mmap.mmap, entries: Iterable[Place], stats: Iterable[Place], recording: Recording
) -> None:
    """Add the programs that devices ran to a recording, and what is damaged to its problems.

    Args:
      buffer: the file.
      entries: where the plane's entries of events are; each holds one program.
      stats: where its names of stats are.
      recording: the devices' planes, read before.
    """
    names = read_names(buffer, (), stats, ()).stats
    program_stats = {number for number, name in names.items() if name in _PROGRAM_STATS}
    planes = [plane for plane in recording.planes if device_of(plane) is not None]
    ids, instructions = _that_ran(planes), _instructions(planes)
    damaged = 0
    for begin, end in entries if program_stats and ids else ():
        try:
            for key, first, last in _programs(buffer, begin, end, program_stats):
                if key in ids:
                    ops = read_program(buffer, first, last, instructions)
                    recording.programs.setdefault(key, {}).update(ops)
        except DamagedError:
            damaged += 1
        page = begin - begin % mmap.PAGESIZE
        buffer.madvise(mmap.MADV_DONTNEED, page, end - page)  # the pages count as memory until then
    if damaged:
        recording.problems.append(
            f"{damaged:,} programs in the plane /host:metadata are damaged: their kernels have the "
            "names that XLA gave them"
        )


def _that_ran(planes: Iterable[Plane]) -> set[int]:
    """Return the ids of the programs that devices ran."""
    ids: set[int] = set()
    for plane in planes:
        own = (kind.stats.get("program_id") for kind in plane.kinds)
        ids.update(signed(each) for each in own if isinstance(each, int) and 0 < each < 2**64)
        for line in plane.lines:
            if "program_id" in line.stats:
                ids.update(np.unique(line.stats["program_id"]).tolist())
    return ids


def _instructions(planes: Iterable[Plane]) -> set[bytes]:
    """Return what may be the name of an instruction that ran."""
    names = {text for plane in planes for text in plane.texts.values()}
    names |= {ran_as(kind) for plane in planes for kind in plane.kinds}
    return {name.encode() for name in names}


def _programs(
    buffer: mmap.mmap, begin: int, end: int, program_stats: set[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield id, begin and end of the programs of one entry. Raises DamagedError."""
    key = 0
    for number, kind, first, last in fields(buffer, begin, end):
        if number == _KEY and kind == VARINT:
            key = signed(first)
        elif number == _VALUE and kind == BYTES:
            for inner, inner_kind, at, until in fields(buffer, first, last):
                if inner == _STATS and inner_kind == BYTES:
                    for place in _values(buffer, at, until, program_stats):
                        yield key, *place


def _values(buffer: mmap.mmap, begin: int, end: int, wanted: set[int]) -> Iterator[Place]:
    stat = 0
    for number, kind, first, last in fields(buffer, begin, end):
        if number == _STAT_ID and kind == VARINT:
            stat = first
        elif number == _BYTES_VALUE and kind == BYTES and stat in wanted:
            yield first, last
