"""The helper process that sets up a cluster's network: creates the namespaces and sends them.

    python -m strategy_core.cluster.network.setup_helper DESCRIPTOR      one end of a socket pair

It receives a request as one JSON line and answers with one line and the namespaces' descriptors:
`{"user": true, "networks": 3, "hosts": []}`, or `{"error": ...}`. It is a separate process because
only a process with a single thread can create a user namespace. A package that emulates links has
a helper of its own, which serves with another `lay`.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from strategy_core.cluster.network import namespaces


@dataclass(frozen=True, slots=True)
class Laid:
    """A network that was created, by descriptors of its namespaces."""

    user: int | None
    """The user namespace; None if none was needed."""
    networks: list[int]
    hosts: list[str] = field(default_factory=list)
    """The IPv4 address of each process; empty if all share the first network."""
    stay: Callable[[socket.socket], None] | None = None
    """What this process does until the other end of the socket pair is closed."""


def own_network(_request: Mapping[str, Any]) -> Laid:
    """Create a network that all processes share; raises OSError."""
    user = namespaces.current("user") if namespaces.make_private() else None
    namespaces.bring_up("lo")
    return Laid(user, [namespaces.current("net")])


def serve(lay: Callable[[Mapping[str, Any]], Laid]) -> int:
    """Answer the request with what `lay` creates. Returns the exit code."""
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        laid = lay(json.loads(control.recv(4096)))
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        why = f"{error.strerror or error}{where}"
        control.sendall(json.dumps({"error": why}).encode())
        return 1
    fds = [fd for fd in (laid.user, *laid.networks) if fd is not None]
    answer = {"user": laid.user is not None, "networks": len(laid.networks), "hosts": laid.hosts}
    socket.send_fds(control, [json.dumps(answer).encode()], fds)
    for fd in fds:
        os.close(fd)
    if laid.stay is not None:
        laid.stay(control)
    return 0


if __name__ == "__main__":
    sys.exit(serve(own_network))
