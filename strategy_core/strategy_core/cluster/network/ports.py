"""Free ports for a cluster on this host, reserved until its servers bind them.

A port that is found free and released can be taken by another program before its server starts.
With `TF_GRPC_REUSE_PORT` TensorFlow's servers bind with SO_REUSEPORT, as these sockets do. Both can
then hold the port at once, and a socket that does not listen receives no connections.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

REUSE_PORT = {"TF_GRPC_REUSE_PORT": "true"}
"""Environment of a server that starts on a reserved port."""


@contextlib.contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Context manager that reserves `count` free ports."""
    with contextlib.ExitStack() as held:
        yield [_reserve(held) for _ in range(count)]


def _reserve(held: contextlib.ExitStack) -> int:
    reserved = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    if hasattr(socket, "SO_REUSEPORT"):
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    reserved.bind(("", 0))
    if not hasattr(socket, "SO_REUSEPORT"):  # the port cannot be held for its server: it is free
        reserved.close()
    return int(reserved.getsockname()[1])
