"""The kernel's counters of this process's TCP connections, without privileges or packet capture.

`getsockopt(TCP_INFO)` returns for each connection how many payload bytes the other side has
acknowledged and how many arrived in order. Retransmissions are counted separately. TensorFlow's
sockets belong to C++, so they are found by their file descriptors and read through a duplicate.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
from dataclasses import dataclass
from pathlib import Path

_FDS = Path("/proc/self/fd")
_SO_COOKIE = 57
_TCP_INFO_BYTES = 232
# Offsets in `struct tcp_info` (include/uapi/linux/tcp.h), which only grows at its end.
_STATE = struct.Struct("B")
_RTT_US = struct.Struct("=68xI")
_COUNTS = struct.Struct("=120xQQII")
"""bytes_acked, bytes_received, segs_out, segs_in: Linux 4.2."""
_RETRANSMITTED = struct.Struct("=208xQ")
"""bytes_retrans: Linux 4.19."""
_LISTEN = 10

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Connection:
    """One TCP connection of this process, as counted by the kernel so far."""

    cookie: int
    """The kernel's number of the socket, which is never reused."""
    local: Address
    remote: Address
    sent_bytes: int
    """Payload that the other side has acknowledged."""
    received_bytes: int
    sent_packets: int
    """Segments as sent on the wire, including those without payload."""
    received_packets: int
    retransmitted_bytes: int | None
    """Bytes sent again; None if the kernel does not count them."""
    rtt_ms: float
    """Smoothed round trip of its acknowledgements."""


def why_unavailable() -> str | None:
    """Why this system does not count the bytes of a connection; None if it does."""
    if sys.platform != "linux":
        return f"{sys.platform} tells no program the bytes of its connections; Linux does"
    if socket.getdefaulttimeout() is not None:
        return (
            "this program set a timeout for all sockets (socket.setdefaulttimeout): looking at "
            "those that it did not open would change them"
        )
    if not _FDS.is_dir():
        return "/proc is not mounted: a process cannot find its own connections"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        size = len(probe.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES))
    if size < _COUNTS.size:
        return f"this kernel's TCP_INFO has {size} bytes, without the counts of Linux 4.2"
    return None


def connections() -> list[Connection]:
    """This process's connected TCP sockets, in no particular order."""
    by_cookie = {}
    with os.scandir(_FDS) as entries:
        descriptors = [int(entry.name) for entry in entries]
    for fd in descriptors:
        with contextlib.suppress(OSError):  # closed in between
            connection = _look_at(fd) if stat.S_ISSOCK(os.fstat(fd).st_mode) else None
            if connection is not None:
                by_cookie[connection.cookie] = connection
    return list(by_cookie.values())


def _look_at(fd: int) -> Connection | None:
    """The connection behind a descriptor; None if it is not a connected TCP socket.

    Raises OSError.
    """
    # shares its blocking mode with the original: do not set it
    with socket.socket(fileno=os.dup(fd)) as sock:
        if sock.family not in (socket.AF_INET, socket.AF_INET6) or sock.type != socket.SOCK_STREAM:
            return None
        info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        if len(info) < _COUNTS.size or _STATE.unpack_from(info)[0] == _LISTEN:
            return None
        sent, received, segments_out, segments_in = _COUNTS.unpack_from(info)
        is_long = len(info) >= _RETRANSMITTED.size
        return Connection(
            cookie=int.from_bytes(sock.getsockopt(socket.SOL_SOCKET, _SO_COOKIE, 8), sys.byteorder),
            local=_address(sock.getsockname()),
            remote=_address(sock.getpeername()),
            sent_bytes=sent,
            received_bytes=received,
            sent_packets=segments_out,
            received_packets=segments_in,
            retransmitted_bytes=_RETRANSMITTED.unpack_from(info)[0] if is_long else None,
            rtt_ms=_RTT_US.unpack_from(info)[0] / 1e3,
        )


def _address(name: tuple[str, int]) -> Address:
    """Host and port; IPv4-mapped addresses as IPv4."""
    return name[0].removeprefix("::ffff:"), name[1]
