"""What the lines of a device's plane are, by their old and their new names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from strategy_imports.recording import Line, Plane

_DEVICE = re.compile(r"/device:(?!CUSTOM\b)([A-Za-z_]+):(\d{1,5})(?: \(.*\))?")
_HOST = re.compile(r"/host:(?:CPU|CUPTI|ROCTRACER)\b|/host:.*threads", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeviceLines:
    """The lines of a device by what they are."""

    executed: Sequence[Line]
    """What the device ran. Lines that group or rename these events are in none of the fields."""
    waits: Sequence[Line]
    modules: Sequence[Line]
    """Executions of whole programs."""
    steps: Sequence[Line]

    @property
    def num_events(self) -> int:
        return sum(map(len, self.executed))


def device_of(plane: Plane) -> tuple[str, int] | None:
    """Return kind and number of a device's plane: `("GPU", 0)`; None for any other plane."""
    match = _DEVICE.fullmatch(plane.name)
    return (match[1].upper(), int(match[2])) if match else None


def is_host(plane: Plane) -> bool:
    return _HOST.match(plane.name) is not None


def lines_of(plane: Plane) -> DeviceLines:
    """Sort the lines of a device's plane.

    A GPU has a line per stream, a TPU core `XLA Ops` and `Async XLA Ops`. Lines of framework ops
    are made from these, so that they count only where a profile has no others.
    """
    streams = _lines_named(plane, "Stream")
    ops = _lines_named(plane, "XLA Ops") + _lines_named(plane, "Async XLA Ops")
    framework = _lines_named(plane, "TensorFlow Ops") + _lines_named(plane, "Framework Ops")
    return DeviceLines(
        executed=streams or ops or framework,
        waits=_lines_named(plane, "XLA TraceMe"),
        modules=_lines_named(plane, "XLA Modules"),
        steps=[line for line in _lines_named(plane, "Steps") if len(line)],
    )


def _lines_named(plane: Plane, name: str) -> list[Line]:
    """Return the lines with this name, or with this and a number or a remark after it."""
    pattern = re.compile(rf"{name}(?:$|[ #/(].*)", re.IGNORECASE | re.DOTALL)
    return [line for line in plane.lines if len(line) and pattern.match(line.name)]
