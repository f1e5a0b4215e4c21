"""Read a Chrome trace (`trace.json`), as TensorBoard, XProf, JAX and PyTorch write it.

Processes become planes and threads lines. What the format lacks, such as the time at which the
capture began, stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import msgspec
import numpy as np

from strategy_imports.chrome_events import CompleteEvent, interpret
from strategy_imports.event_names import is_left_out
from strategy_imports.host_spans import readable
from strategy_imports.recording import (
    BOOKKEEPING,
    CATEGORY,
    EPOCH_NS,
    INTEGER_STATS,
    TEXT_STATS,
    EventKind,
    Ints,
    Line,
    Plane,
    Recording,
)
from strategy_imports.tensor_sizes import is_count
from strategy_imports.xplane_line import LATEST_NS
from strategy_profiles.decoders import decoder_of
from strategy_profiles.guards import open_file

MOST_BYTES = 256 << 20
"""What is read of a file: its events take about four times as much memory."""
_MOST_CUTS = 40
_LONGEST_EVENT_BYTES = 1 << 16
_LARGEST = 2**62
_NO_NUMBER = re.compile(rb"([:\[,]\s*)(?:NaN|-?Infinity)(?=\s*[,\]}])")
"""Python's `json`, of which PyTorch's traces are made, writes them; JSON does not have them."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class _Event(msgspec.Struct):
    """An event as it is written; values may have any type."""

    ph: Any = None
    name: Any = None
    cat: Any = None
    pid: Any = None
    tid: Any = None
    ts: Any = None
    dur: Any = None
    args: Any = None


class _Trace(msgspec.Struct):
    """A trace with what PyTorch writes beside its events, under the format's own names."""

    traceEvents: list[_Event] = []  # noqa: N815
    baseTimeNanoseconds: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    deviceProperties: Any = None  # noqa: N815
    host_name: Any = None


_WHOLE = decoder_of(_Trace)
_BARE = decoder_of(list[_Event])


def looks_like_chrome_trace(path: Path) -> bool:
    """Return whether a file begins as JSON does; an XSpace begins with a line feed."""
    with open_file(path) as file:
        head = file.read(512).removeprefix(_BYTE_ORDER_MARK).lstrip(b" \t\r\n")
    return head[:1] in (b"{", b"[") and (head[1:].lstrip()[:1] in (b'"', b"{", b"}", b"]", b""))


def read_chrome_trace(path: Path, host: str) -> Recording:
    """Return what a trace has; `problems` says what it has not. Raises OSError."""
    recording = Recording(host)
    with open_file(path) as file:
        data = file.read(MOST_BYTES).removeprefix(_BYTE_ORDER_MARK)
        if file.read(1):
            recording.problems.append(f"Only the first {MOST_BYTES >> 20} MB of the trace are read")
    trace = _decode(data, recording)
    base_ns = trace.baseTimeNanoseconds
    _fill(recording, trace.traceEvents, base_ns if is_count(base_ns, LATEST_NS) else 0)
    first_ns = min(
        (int(line.start_ns.min()) for plane in recording.planes for line in plane.lines), default=0
    )
    recording.start_ns = first_ns if first_ns > EPOCH_NS else 0
    recording.own_host = readable(str(trace.host_name or "").encode())
    _read_program(recording, trace)
    return recording


def _read_program(recording: Recording, trace: _Trace) -> None:
    """Read which rank of the program the file has, and what its devices are."""
    fields = trace.distributedInfo if isinstance(trace.distributedInfo, dict) else {}
    rank, num_ranks = fields.get("rank"), fields.get("world_size")
    recording.rank = rank if is_count(rank) else None
    recording.num_ranks = num_ranks if is_count(num_ranks) and num_ranks else None
    groups = fields.get("pg_config")
    sizes = [g.get("pg_size") for g in groups if isinstance(g, dict)] if is_list(groups) else []
    recording.group_sizes = frozenset(size for size in sizes if is_count(size) and size)
    for device in trace.deviceProperties if is_list(trace.deviceProperties) else []:
        if isinstance(device, dict) and is_count(device.get("id")) and device.get("name"):
            recording.models[device["id"]] = readable(str(device["name"]).encode())


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _decode(data: bytes, recording: Recording) -> _Trace:
    """Return the trace, or its longest readable part; adds to `problems`."""
    for text in _candidates(data, recording):
        decoder = _BARE if text.lstrip()[:1] == b"[" else _WHOLE
        try:
            decoded = decoder.decode(text)
        except ValueError:
            continue
        return decoded if isinstance(decoded, _Trace) else _Trace(decoded)
    recording.problems[:] = ["It is no Chrome trace: it is not JSON, or has no list of events"]
    return _Trace()


def _candidates(data: bytes, recording: Recording) -> Iterator[bytes]:
    """Yield the whole text, that without NaN, and then the text up to its last whole events."""
    yield data
    data, num_replaced = _NO_NUMBER.subn(rb"\1null", data)
    if num_replaced:
        recording.problems.append(
            f"{num_replaced:,} values of the trace are NaN or infinite: events whose begin or "
            "length is such a value are not read"
        )
        yield data
    recording.problems.append(
        "The trace is damaged or cut off: what follows its last whole event is not read"
    )
    end = b"]" if data.lstrip()[:1] == b"[" else b"]}"
    until, least = len(data), max(len(data) - _LONGEST_EVENT_BYTES, 0)
    for _cut in range(_MOST_CUTS):
        until = data.rfind(b"}", least, until)
        if until < 0:
            return
        yield data[: until + 1] + end


@dataclass(slots=True)
class _Columns:
    kind: list[int] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    stats: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Pairs of an event's index and its value."""


@dataclass(slots=True)
class _PlaneBuilder:
    kinds: dict[tuple[str, str], int] = field(default_factory=dict)
    """By name and category."""
    texts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, _Columns] = field(default_factory=dict)


def _fill(recording: Recording, events: list[_Event], base_ns: int) -> None:
    planes: dict[str, _PlaneBuilder] = {}
    for event in interpret(events, base_ns):
        recording.num_events += 1
        if not _is_kept(event, recording):
            continue
        plane = planes.setdefault(event.plane, _PlaneBuilder())
        columns = plane.lines.setdefault(event.line, _Columns())
        index = len(columns.kind)
        columns.kind.append(plane.kinds.setdefault((event.name, event.category), len(plane.kinds)))
        columns.start_ns.append(event.start_ns)
        columns.end_ns.append(event.end_ns)
        for name, value in _known_stats(event, plane):
            columns.stats.setdefault(name, []).append((index, value))
    for name, builder in planes.items():
        recording.planes.append(_plane(name, builder))


def _is_kept(event: CompleteEvent, recording: Recording) -> bool:
    """Return whether an event is kept; counts what is not, and what is not recognised."""
    is_of_host = not event.plane.startswith("/device:")
    if event.role == "repeats":
        recording.left_out[f"{event.category}, which repeats other events"] += 1
        return False
    if event.role == "not read":
        recording.not_recognised[f"category {event.category}"] += 1
        return False
    if is_left_out(event.name):
        recording.left_out[BOOKKEEPING] += 1
        return False
    if is_of_host and event.role:
        recording.categories[event.category] += 1
    elif is_of_host and event.category:
        recording.not_recognised[f"category {event.category}"] += 1
    elif is_of_host and not event.process.startswith("/host:"):
        recording.not_recognised[f"process {event.process or 'without a name'}"] += 1
    return True


def _known_stats(event: CompleteEvent, plane: _PlaneBuilder) -> Iterator[tuple[str, int]]:
    for name, value in event.stats.items():
        if name in INTEGER_STATS and (number := _number(value)) is not None:
            yield name, number
        elif name in TEXT_STATS and isinstance(value, str):
            yield name, plane.texts.setdefault(value[:1000], len(plane.texts))


def _number(value: object) -> int | None:
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if 0 <= number < _LARGEST else None


def _plane(name: str, builder: _PlaneBuilder) -> Plane:
    texts = {number: text for text, number in builder.texts.items()}
    lines = [
        _line(line, number, columns) for number, (line, columns) in enumerate(builder.lines.items())
    ]
    kinds = [
        EventKind(kind, stats={CATEGORY: category} if category else {})
        for kind, category in builder.kinds
    ]
    return Plane(name, kinds, lines, {}, texts)


def _line(name: str, number: int, columns: _Columns) -> Line:
    return Line(
        name,
        number,
        np.asarray(columns.kind, np.int64),
        np.asarray(columns.start_ns, np.int64),
        np.asarray(columns.end_ns, np.int64),
        {key: _stat(pairs, len(columns.kind)) for key, pairs in columns.stats.items()},
    )


def _stat(pairs: list[tuple[int, int]], length: int) -> Ints:
    column = np.full(length, -1, np.int64)
    index, values = np.asarray(pairs, np.int64).T
    column[index] = values
    return column
