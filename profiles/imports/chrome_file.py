"""Read a Chrome trace (`trace.json`), as TensorBoard, XProf, JAX and PyTorch write it.

Processes become planes and threads lines. What the format lacks, such as the time at which the
capture began, stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from strategy_lab.profiles.decoders import decoder_of
from strategy_lab.profiles.imports.chrome_events import CompleteEvent, interpret
from strategy_lab.profiles.imports.event_names import is_left_out
from strategy_lab.profiles.imports.recording import (
    INTEGER_STATS,
    TEXT_STATS,
    EventKind,
    Ints,
    Line,
    Plane,
    Recording,
)

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
    traceEvents: list[_Event] = []  # noqa: N815  the format's own name


_WHOLE = decoder_of(_Trace)
_BARE = decoder_of(list[_Event])


def looks_like_chrome_trace(path: Path) -> bool:
    """Return whether a file begins as JSON does; an XSpace begins with a line feed."""
    with path.open("rb") as file:
        head = file.read(512).removeprefix(_BYTE_ORDER_MARK).lstrip(b" \t\r\n")
    return head[:1] in (b"{", b"[") and (head[1:].lstrip()[:1] in (b'"', b"{", b"}", b"]", b""))


def read_chrome_trace(path: Path, host: str) -> Recording:
    """Return what a trace has; `problems` says what it has not. Raises OSError."""
    found = Recording(host)
    with path.open("rb") as file:
        data = file.read(MOST_BYTES).removeprefix(_BYTE_ORDER_MARK)
        if file.read(1):
            found.problems.append(f"Only the first {MOST_BYTES >> 20} MB of the trace are read")
    events = _decode(data, found)
    _fill(found, events)
    return found


def _decode(data: bytes, found: Recording) -> list[_Event]:
    """Return the events of the text, or of its longest readable part; adds to `problems`."""
    for text in _candidates(data, found):
        decoder = _BARE if text.lstrip()[:1] == b"[" else _WHOLE
        try:
            decoded = decoder.decode(text)
        except (msgspec.DecodeError, RecursionError, ValueError):
            continue
        return decoded.traceEvents if isinstance(decoded, _Trace) else decoded
    found.problems[:] = ["It is no Chrome trace: it is not JSON, or has no list of events"]
    return []


def _candidates(data: bytes, found: Recording) -> Iterator[bytes]:
    """Yield the whole text, that without NaN, and then the text up to its last whole events."""
    yield data
    data, num_replaced = _NO_NUMBER.subn(rb"\1null", data)
    if num_replaced:
        found.problems.append(
            f"{num_replaced:,} values of the trace are NaN or infinite: events whose begin or "
            "length is such a value are not read"
        )
        yield data
    found.problems.append(
        "The trace is damaged or cut off: what follows its last whole event is not read"
    )
    end = b"]" if data.lstrip()[:1] == b"[" else b"]}"
    place, least = len(data), max(len(data) - _LONGEST_EVENT_BYTES, 0)
    for _cut in range(_MOST_CUTS):
        place = data.rfind(b"}", least, place)
        if place < 0:
            return
        yield data[: place + 1] + end


@dataclass(slots=True)
class _Columns:
    kind: list[int] = field(default_factory=list)
    start_ns: list[int] = field(default_factory=list)
    end_ns: list[int] = field(default_factory=list)
    stats: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """Pairs of an event's index and its value."""


@dataclass(slots=True)
class _PlaneBuilder:
    kinds: dict[str, int] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)
    lines: dict[str, _Columns] = field(default_factory=dict)


def _fill(found: Recording, events: list[_Event]) -> None:
    planes: dict[str, _PlaneBuilder] = {}
    for event in interpret(events):
        found.num_events += 1
        if is_left_out(event.name):
            found.num_left_out += 1
            continue
        plane = planes.setdefault(event.plane, _PlaneBuilder())
        columns = plane.lines.setdefault(event.line, _Columns())
        index = len(columns.kind)
        columns.kind.append(plane.kinds.setdefault(event.name, len(plane.kinds)))
        columns.start_ns.append(event.start_ns)
        columns.end_ns.append(event.end_ns)
        for name, value in _known(event, plane):
            columns.stats.setdefault(name, []).append((index, value))
    for name, builder in planes.items():
        found.planes.append(_plane(name, builder))


def _known(event: CompleteEvent, plane: _PlaneBuilder) -> Iterator[tuple[str, int]]:
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
    return Plane(name, [EventKind(kind) for kind in builder.kinds], lines, {}, texts)


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
