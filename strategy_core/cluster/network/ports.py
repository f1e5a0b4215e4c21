"""Free ports for a cluster on this host, kept free until its servers have taken them.

A port that is found and let go can be taken by anyone before its server starts. With
`TF_GRPC_REUSE_PORT` TensorFlow's servers bind with SO_REUSEPORT, as these sockets do: both may
hold a port at once, and a socket that does not listen takes no connection away.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

REUSE_PORT = {"TF_GRPC_REUSE_PORT": "true"}
"""Environment of a server that is to start at a reserved port."""


@contextlib.contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """`count` ports that no other process gets while inside."""
    with contextlib.ExitStack() as held:
        yield [_reserve(held) for _ in range(count)]


def _reserve(held: contextlib.ExitStack) -> int:
    reserved = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    if hasattr(socket, "SO_REUSEPORT"):
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind(("", 0))
    if not hasattr(socket, "SO_REUSEPORT"):
        reserved.close()
    return int(reserved.getsockname()[1])
