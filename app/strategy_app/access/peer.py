"""Which user of this machine is at the other end of a connection.

A browser sends the cookies of 127.0.0.1 to every port of it. So another user, whose server runs at
another port, can receive the lab's cookie from the owner's browser, HttpOnly or not, and send it
back to the lab. The cookie is therefore made for one user id, which the kernel tells for both ends
of a connection within this machine (on Linux; elsewhere, and for other machines, it is unknown).
"""

from __future__ import annotations

import ipaddress
import socket
import struct

Address = tuple[str, int]

# linux/inet_diag.h: asked for one connection by its ends, the kernel looks it up in its table of
# connections. /proc/net/tcp tells the same, but walks the whole table, empty places included: 4 ms
# a time against 0.05 ms, for each request of a page.
_SOCK_DIAG = 4
_BY_FAMILY, _REQUEST = 20, 1
_HEADER = struct.Struct("=IHHII")
_QUESTION = struct.Struct("=BBBxI")
_ENDS = struct.Struct("!HH16s16s")
_ANY = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
"""Wildcards of the query: any interface, any cookie."""
_ESTABLISHED = 1
_STATE_AT = _HEADER.size + 1
_UID_AT = _HEADER.size + 4 + _ENDS.size + len(_ANY) + 12
_ANSWER_WITHIN_S = 1.0


def uid_of(client: Address | None, server: Address | None) -> int | None:
    """The user id that owns the client's socket; None if this machine does not know it."""
    if client is None or server is None:
        return None
    try:
        client_ip, there = _number(client), _number(server)
        family = socket.AF_INET if client_ip.version == 4 else socket.AF_INET6
        ends = _ENDS.pack(client[1], server[1], client_ip.packed, there.packed)
        query = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, 1 << _ESTABLISHED) + ends + _ANY
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.settimeout(_ANSWER_WITHIN_S)
            kernel.send(_HEADER.pack(_HEADER.size + len(query), _BY_FAMILY, _REQUEST, 1, 0) + query)
            answer = kernel.recv(4096)
        if _HEADER.unpack_from(answer)[1] != _BY_FAMILY or answer[_STATE_AT] != _ESTABLISHED:
            return None  # no such connection here, or it has ended
        return int(struct.unpack_from("=I", answer, _UID_AT)[0])
    except (AttributeError, OSError, ValueError, struct.error):
        return None  # not Linux, not allowed, or no number for an address


def _number(address: Address) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    ip = ipaddress.ip_address(address[0].partition("%")[0])
    # An IPv4 connection to a socket of both kinds is kept as one of IPv4.
    return (ip.version == 6 and ip.ipv4_mapped) or ip
