"""XSpace files made by hand: small ones for tests, large ones for benchmarks.

Written field by field, without the code that reads them and without TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.profiles.capture.xspace_builder import integer, message


class Inline(str):
    """A text that the event itself holds, and not a name of the plane."""


@dataclass
class MadeLine:
    """A line; events are name, start and length in ps, and stats by name."""

    name: str
    events: Sequence[tuple[str, int, int, Mapping[str, int | str]]]
    thread: int = 1
    timestamp_ns: int = 0


@dataclass
class MadePlane:
    """A plane; `kinds` has display name and stats of some event names, whose ids are 1, 2, ..."""

    name: str
    lines: Sequence[MadeLine] = ()
    stats: Mapping[str, int | str] = field(default_factory=dict)
    kinds: Mapping[str, tuple[str, Mapping[str, int | str | bytes]]] = field(default_factory=dict)


def xspace(
    planes: Sequence[MadePlane],
    hosts: Sequence[str] = (),
    errors: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> bytes:
    """Return a serialized XSpace."""
    parts = [message(1, _plane(plane)) for plane in planes]
    for number, texts in ((2, errors), (3, warnings), (4, hosts)):
        parts += [message(number, text.encode()) for text in texts]
    return b"".join(parts)


def started(start_ns: int) -> MadePlane:
    """Return the plane that says when a capture began."""
    return MadePlane("Task Environment", stats={"profile_start_time": start_ns})


class _Names:
    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def id(self, name: str) -> int:
        return self.ids.setdefault(name, len(self.ids) + 1)


def _plane(plane: MadePlane) -> bytes:
    kinds, stats = _Names(), _Names()
    for name in plane.kinds:
        kinds.id(name)
    lines = [message(3, _line(line, kinds, stats)) for line in plane.lines]
    own = [message(6, _stat(name, value, stats)) for name, value in plane.stats.items()]
    entries = [
        message(4, integer(1, number) + message(2, _kind(plane, name, number, stats)))
        for name, number in kinds.ids.items()
    ]
    named = [
        message(
            5,
            integer(1, number) + message(2, integer(1, number) + message(2, name.encode())),
        )
        for name, number in stats.ids.items()
    ]
    return b"".join([message(2, plane.name.encode()), *lines, *entries, *named, *own])


def _kind(plane: MadePlane, name: str, number: int, stats: _Names) -> bytes:
    display, values = plane.kinds.get(name, ("", {}))
    parts = [integer(1, number), message(2, name.encode())]
    parts += [message(4, display.encode())] if display else []
    return b"".join([*parts, *(message(5, _stat(key, v, stats)) for key, v in values.items())])


def _line(line: MadeLine, kinds: _Names, stats: _Names) -> bytes:
    parts = [integer(1, line.thread), message(2, line.name.encode())]
    parts += [integer(3, line.timestamp_ns)] if line.timestamp_ns else []
    for name, offset_ps, duration_ps, values in line.events:
        event = [integer(1, kinds.id(name))]
        event += [integer(2, offset_ps)] if offset_ps else []  # proto3 omits zeros
        event += [integer(3, duration_ps)] if duration_ps else []
        event += [message(4, _stat(key, value, stats)) for key, value in values.items()]
        parts.append(message(4, b"".join(event)))
    return b"".join(parts)


def _stat(name: str, value: int | str | bytes, stats: _Names) -> bytes:
    """Return a number as an unsigned value, a text as a reference unless it is inline."""
    if isinstance(value, Inline):
        return integer(1, stats.id(name)) + message(5, value.encode())
    if isinstance(value, bytes):
        return integer(1, stats.id(name)) + message(6, value)
    if isinstance(value, str):
        return integer(1, stats.id(name)) + integer(7, stats.id(value))
    return integer(1, stats.id(name)) + (integer(3, value) if value else b"")
