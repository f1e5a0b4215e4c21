"""One question to another clock and its answer: four clock readings, and the offset from them.

    own clock        sent ........................ returned
    reference             received .... answered

    offset = ((received - sent) + (answered - returned)) / 2

The offset is the reference's time less the own time. It is exact if both ways take equally long,
and otherwise wrong by at most half the round trip (Mills, RFC 5905).
"""

from __future__ import annotations

import hashlib
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

Clock = Callable[[], int]
"""Reads a wall clock, in ns."""

_DATAGRAM = struct.Struct("!16sQqq")
SIZE = _DATAGRAM.size
"""Size of a question and of an answer, in bytes.

They are equal, so the server cannot be used to amplify traffic.
"""
_ARRIVAL = 35
"""Linux: SO_TIMESTAMPNS and SCM_TIMESTAMPNS, which Python does not define."""
_TIMESPEC = struct.Struct("@ll")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question and its answer, in ns; `sent` and `returned` are on the own clock."""

    sent_ns: int
    received_ns: int
    answered_ns: int
    returned_ns: int

    @property
    def offset_ns(self) -> int:
        """The reference's time less the own time."""
        there = self.received_ns - self.sent_ns
        back = self.answered_ns - self.returned_ns
        return (there + back) // 2

    @property
    def round_trip_ns(self) -> int:
        """Time of both ways together, without the time that the other side took to answer."""
        return self.returned_ns - self.sent_ns - (self.answered_ns - self.received_ns)

    @property
    def uncertainty_ns(self) -> int:
        """Upper bound for the error of the offset."""
        return self.round_trip_ns // 2 + 1


def quickest(exchanges: Sequence[Exchange]) -> Exchange | None:
    """The exchange with the shortest round trip, which has the smallest uncertainty.

    Ignores exchanges during which the clock was set back, so that the round trip is negative.
    Returns None if no valid exchange is left.
    """
    sound = [exchange for exchange in exchanges if exchange.round_trip_ns >= 0]
    return min(sound, key=lambda exchange: exchange.round_trip_ns, default=None)


def token_of(secret: str) -> bytes:
    """A 16-byte token of a run, contained in each of its datagrams; others are not answered."""
    return hashlib.sha256(secret.encode()).digest()[:16]


def pack(token: bytes, number: int, received_ns: int = 0, answered_ns: int = 0) -> bytes:
    return _DATAGRAM.pack(token, number, received_ns, answered_ns)


def unpack(data: bytes, token: bytes) -> tuple[int, int, int] | None:
    """Number, received and answered of a datagram; None if it is not from this run."""
    if len(data) != SIZE:
        return None
    sent_token, number, received_ns, answered_ns = _DATAGRAM.unpack(data)
    return (number, received_ns, answered_ns) if sent_token == token else None


def ask_for_arrivals(sock: socket.socket) -> None:
    """Ask the kernel to timestamp arriving datagrams, if it can.

    A Python thread that waits for the interpreter's lock reads its own clock milliseconds late.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, _ARRIVAL, 1)


def receive(sock: socket.socket, clock: Clock) -> tuple[bytes, Any, int]:
    """A datagram, its sender, and its arrival time; raises OSError, including TimeoutError."""
    if not hasattr(sock, "recvmsg"):
        data, sender = sock.recvfrom(2 * SIZE)
        return data, sender, clock()
    data, ancillary, _, sender = sock.recvmsg(2 * SIZE, 64)
    lay_ns = 0
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _ARRIVAL) and len(content) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(content)
            # How long the datagram waited in the kernel until this thread ran. Always on the
            # system's clock, which the kernel uses; `clock` may be another one.
            lay_ns = time.time_ns() - (seconds * 1_000_000_000 + nanoseconds)
    # Read last: the time in between makes the round trip appear longer, never shorter.
    now_ns = clock()
    # A wait below zero or of seconds means that the clock was set meanwhile: it is not used.
    return data, sender, now_ns - lay_ns if 0 < lay_ns < 1_000_000_000 else now_ns
