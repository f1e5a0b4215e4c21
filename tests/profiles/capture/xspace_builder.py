"""Writes XSpace files by hand, byte by byte: a second, independent idea of the format."""

from __future__ import annotations

from dataclasses import dataclass, field

EPOCH_NS = 1_790_000_000_000_000_000
"""When the built captures begin."""


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def integer(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def message(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


@dataclass
class CaptureBuilder:
    """Events are added by name; times are nanoseconds after the capture's start."""

    lines: dict[str, list[bytes]] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    stats: dict[str, int] = field(default_factory=dict)
    is_absolute: bool = False
    starts_ns: int = 0
    stops_ns: int | None = None
    """When the profiler was on, after `EPOCH_NS`."""

    def add(
        self, event: str, start_ns: float, end_ns: float, line: str = "main", **stats: int | str
    ) -> None:
        ident = self.names.setdefault(event, len(self.names) + 1)
        fields = integer(1, ident) + integer(2, round(start_ns * 1000))
        if end_ns > start_ns:
            fields += integer(3, round((end_ns - start_ns) * 1000))
        for key, value in stats.items():
            fields += message(4, self._stat(key, value))
        self.lines.setdefault(line, []).append(fields)

    def step(self, number: int, start_ns: float, end_ns: float) -> None:
        self.add("train", start_ns, end_ns, step_num=number, _r=1)

    def receive(
        self,
        node: str,
        issued_ns: float,
        done_ns: float,
        step_id: int = -7,
        op: str = "_Recv",
    ) -> None:
        for kind, at in (("Start", issued_ns), ("Done", done_ns)):
            self.add(
                f"ExecutorState::ProcessAsync::{kind}",
                at,
                at,
                name=node,
                kernel_type=op,
                step_id=step_id,
            )

    def serialized(self) -> bytes:
        plane = message(2, b"/host:CPU")
        for number, events in enumerate(self.lines.values()):
            is_told = self.is_absolute or self.starts_ns
            at = integer(3, EPOCH_NS) if is_told else b""
            line = integer(1, number + 10) + at + b"".join(message(4, e) for e in events)
            plane += message(3, line)
        plane += b"".join(message(4, self._entry(k, v)) for k, v in self.names.items())
        plane += b"".join(message(5, self._entry(k, v)) for k, v in self.stats.items())
        started = message(2, b"Task Environment")
        started += message(5, self._entry("profile_start_time", 1))
        started += message(6, integer(1, 1) + integer(3, EPOCH_NS + self.starts_ns))
        if self.stops_ns is not None:
            started += message(5, self._entry("profile_stop_time", 2))
            started += message(6, integer(1, 2) + integer(3, EPOCH_NS + self.stops_ns))
        return message(1, plane) + message(1, started)

    def _stat(self, key: str, value: int | str) -> bytes:
        ident = integer(1, self.stats.setdefault(key, len(self.stats) + 1))
        if isinstance(value, str):
            return ident + integer(7, self.stats.setdefault(value, len(self.stats) + 1))
        return ident + integer(4, value)

    @staticmethod
    def _entry(name: str, ident: int) -> bytes:
        return integer(1, ident) + message(2, integer(1, ident) + message(2, name.encode()))
